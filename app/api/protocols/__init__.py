"""The same answers for clients of other protocols: OpenAI's, MCP, the AI SDK."""

import asyncio
from importlib import import_module
from importlib.util import find_spec

from fastapi import Request
from starlette.routing import Route
from starlette.types import ASGIApp


async def _mcp(_: Request) -> ASGIApp:
    """Import the optional package at the first request: the import takes 0.3 s."""
    module = await asyncio.to_thread(import_module, "app.api.protocols.mcp")
    answer: ASGIApp = module.over_http
    return answer


MCP_ROUTES = (Route("/v1/mcp", _mcp, methods=["POST"]),) if find_spec("mcp") else ()
