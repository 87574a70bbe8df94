"""Adds the routes of the other protocols to the application."""

from __future__ import annotations

import asyncio
from functools import cache
from importlib.util import find_spec

from fastapi import FastAPI, Request
from starlette.routing import Route
from starlette.types import ASGIApp

from app.api.problems import SHAPES
from app.api.protocols import ai_sdk, openai
from app.api.protocols.openai_errors import PATHS, openai_error

MCP_PATH = "/v1/mcp"


def protocols(app: FastAPI) -> None:
    """Add the routes of all protocols; called after `security.install`.

    The Model Context Protocol is added if its package is installed.
    """
    app.include_router(openai.router)
    app.include_router(ai_sdk.router)
    SHAPES.update(dict.fromkeys(PATHS, openai_error))
    if find_spec("mcp"):
        app.router.routes.append(Route(MCP_PATH, _mcp, methods=["POST"]))


async def _mcp(_: Request) -> ASGIApp:
    return await asyncio.to_thread(_mcp_endpoint)


@cache
def _mcp_endpoint() -> ASGIApp:
    """Import the optional package at the first request: the import takes 0.3 s."""
    from app.api.protocols.mcp import McpEndpoint  # noqa: PLC0415

    return McpEndpoint()
