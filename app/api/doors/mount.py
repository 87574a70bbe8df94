"""Where the application gets its doors."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from importlib.util import find_spec

from fastapi import FastAPI
from starlette.routing import Route

from app.api.doors import ai_sdk, llms_text, openai
from app.api.doors.openai_errors import OpenAIErrors
from app.settings import Settings


def doors(app: FastAPI, settings: Settings) -> Callable[[], AbstractAsyncContextManager[None]]:
    """Add the routes of all doors; to be called after `security.install`.

    Those of the Model Context Protocol are added if its package is installed. They answer inside
    the context returned, which is for the application's lifespan.
    """
    app.include_router(openai.router)
    app.include_router(ai_sdk.router)
    app.include_router(llms_text.router)
    app.add_middleware(OpenAIErrors)
    return _mcp(app, settings) if find_spec("mcp") else nullcontext


def _mcp(app: FastAPI, settings: Settings) -> Callable[[], AbstractAsyncContextManager[None]]:
    # An optional extra, whose import takes a third of a second.
    from app.api.doors.mcp import PATH, McpEndpoint  # noqa: PLC0415

    endpoint = McpEndpoint(settings.allowed_origins)
    app.router.routes.append(Route(PATH, endpoint, methods=["POST"]))
    return endpoint.running
