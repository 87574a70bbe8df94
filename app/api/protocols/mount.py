"""Adds the routes of the other protocols to the application."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec

from fastapi import FastAPI
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from app.api.problems import SHAPES
from app.api.protocols import ai_sdk, llms_routes, openai
from app.api.protocols.openai_errors import PATHS, openai_error

MCP_PATH = "/v1/mcp"


def protocols(app: FastAPI) -> None:
    """Add the routes of all protocols; called after `security.install`.

    The Model Context Protocol is added if its package is installed.
    """
    app.include_router(openai.router)
    app.include_router(ai_sdk.router)
    app.include_router(llms_routes.router)
    SHAPES.update(dict.fromkeys(PATHS, openai_error))
    if find_spec("mcp"):
        app.router.routes.append(Route(MCP_PATH, _McpWhenAsked(), methods=["POST"]))


class _McpWhenAsked:
    """Imports the optional package at the first request: the import takes 0.3 s."""

    def __init__(self) -> None:
        self._endpoint: ASGIApp | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._endpoint is None:
            self._endpoint = await asyncio.to_thread(self._load)
        await self._endpoint(scope, receive, send)

    def _load(self) -> ASGIApp:
        from app.api.protocols.mcp import McpEndpoint  # noqa: PLC0415

        return McpEndpoint()
