"""The same answers for clients of other protocols: OpenAI's, MCP, the AI SDK."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec

from fastapi import Request
from starlette.routing import Route
from starlette.types import ASGIApp


async def _mcp(_: Request) -> ASGIApp:
    return await asyncio.to_thread(_imported)


def _imported() -> ASGIApp:
    """Import the optional package at the first request: the import takes 0.3 s."""
    from app.api.protocols.mcp import over_http  # noqa: PLC0415

    return over_http


MCP_ROUTES = (Route("/v1/mcp", _mcp, methods=["POST"]),) if find_spec("mcp") else ()
