"""The Model Context Protocol (https://modelcontextprotocol.io): the tools over HTTP and stdio.

Needs the extra `mcp`. Over HTTP it is stateless: no sessions, no streams opened by the server.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import suppress
from functools import cache
from http import HTTPStatus
from importlib import metadata
from inspect import getdoc
from typing import Any

from fastapi import Request
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.mcpserver.tools import Tool
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import ValidationError
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Scope, Send

from app.api.asking import while_connected
from app.api.problems import error_event, invalid_fields, report, status_of
from app.api.protocols.book_tools import INSTRUCTIONS, BookTools
from app.domain.errors import RagError
from app.services.recording import current

logging.getLogger("mcp").setLevel(logging.WARNING)  # on INFO it logs each request


_READING = ToolAnnotations(read_only_hint=True, open_world_hint=False)


class ToolServer(MCPServer[Any]):
    """The tools for agents. Their errors are returned as results, for the model to read."""

    def __init__(self, local: Request | None = None) -> None:
        """`local` stands for the request of each call in a process without HTTP."""
        super().__init__(
            "textbook-rag",
            version=metadata.version("textbook-rag"),
            instructions=INSTRUCTIONS,
            subscriptions=False,
        )
        tools = BookTools(local)
        for call in (tools.search_book, tools.ask_book, tools.read_paragraph, tools.list_chapters):
            self.tool(description=getdoc(call), annotations=_READING)(call)
        for tool in self._tool_manager.list_tools():
            _forbid_other_arguments(tool)

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> Any:  # noqa: ANN401 - the base class's type
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            content = TextContent(type="text", text=_message(error))
            return CallToolResult(content=[content], is_error=True)


def _forbid_other_arguments(tool: Tool) -> None:
    """A misspelled `book` must not ask all books."""
    arguments = tool.fn_metadata.arg_model
    arguments.model_config["extra"] = "forbid"
    arguments.model_rebuild(force=True)
    tool.parameters = arguments.model_json_schema()


def _message(error: ToolError) -> str:
    """Return what the model reads. Over stdin, its user may read the reason of any failure."""
    cause = error.__cause__
    if not isinstance(error, UnexpectedToolError) or not isinstance(cause, Exception):
        if isinstance(cause, ValidationError):
            fields = invalid_fields(cause.errors())
            return "; ".join(f"{one.field}: {one.message}" for one in fields)
        return str(error)
    report(cause)
    failure, request_id = error_event(cause), current().request_id
    if not request_id and isinstance(cause, RagError):
        return f"{cause} ({failure.code})"
    failed = request_id and status_of(cause) >= HTTPStatus.INTERNAL_SERVER_ERROR
    quoted = f" (request {request_id})" if failed else ""
    return f"{failure.message}{quoted} ({failure.code})"


@cache
def _server() -> ToolServer:
    return ToolServer()


async def over_http(scope: Scope, receive: Receive, send: Send) -> None:
    """The ASGI application of `POST /v1/mcp`.

    A call is cancelled when its client disconnects, and ends with 503 when the server stops.
    """
    request = Request(scope, receive)
    work = _answer(scope, await request.body(), send)
    with suppress(ClientDisconnect):  # also raised after a complete response
        await while_connected(request, work)


async def _answer(scope: Scope, body: bytes, send: Send) -> None:
    # A manager per request, so that it ends with the request. Stateless: nothing is shared.
    server = _server()._lowlevel_server
    manager = StreamableHTTPSessionManager(server, json_response=True, stateless=True)
    async with manager.run():
        await manager.handle_request(scope, aiter(_received(body)).__anext__, send)


async def _received(body: bytes) -> AsyncIterator[Message]:
    """Yield the body, then wait: `over_http` watches the disconnect."""
    yield {"type": "http.request", "body": body, "more_body": False}
    await asyncio.Event().wait()
