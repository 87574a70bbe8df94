"""The Model Context Protocol (https://modelcontextprotocol.io): the tools over HTTP and stdio.

Needs the extra `mcp`. Over HTTP it is stateless: no sessions, no streams opened by the server.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    asynccontextmanager,
    contextmanager,
    nullcontext,
    suppress,
)
from dataclasses import dataclass
from http import HTTPStatus
from importlib import metadata
from typing import Any, TypeAlias
from uuid import uuid4

import mcp_types as types
from fastapi import Request
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from pydantic import ValidationError
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Scope, Send

from app.api.answer_runs import AnswerRuns
from app.api.asking import searched, unless_disconnected
from app.api.keys import books_for
from app.api.limits import CHARGES, capacity_of, charge_address, client_place
from app.api.problems import (
    error_event,
    invalid_fields,
    report,
    request_id,
    status_of,
)
from app.api.protocols.book_tools import INSTRUCTIONS, TOOLS, Admission
from app.api.pseudonyms import reader_of
from app.api.quotas import answer_charged, charge_search
from app.bootstrap.application import Application
from app.domain.answer import AnswerEvent
from app.domain.book_id import BookId
from app.domain.printable import printable
from app.services.recording import current, recording

_log = logging.getLogger(__name__)

logging.getLogger("mcp").setLevel(logging.WARNING)  # on INFO it logs each request

Context: TypeAlias = ServerRequestContext[dict[str, Any], Request]
Caller: TypeAlias = Callable[[Context], tuple[Application, Admission]]
"""Returns the use cases and the admission for a call of a tool."""


class Owner:
    """The admission of the user who started the process: no limits, no question log."""

    reader = ""

    def books(self, book: BookId | None) -> tuple[BookId, ...]:
        return (book,) if book else ()

    def searching(self, book: BookId | None) -> AbstractAsyncContextManager[None]:  # noqa: ARG002
        return nullcontext()

    answering = searching

    def searched(
        self, events: AsyncGenerator[AnswerEvent, None]
    ) -> AsyncGenerator[AnswerEvent, None]:
        return events


@dataclass(frozen=True, slots=True)
class Visitor:
    """The admission of an HTTP request: the books of its key, the limits of the HTTP routes."""

    request: Request

    @property
    def reader(self) -> str:
        return reader_of(self.request)

    def books(self, book: BookId | None) -> tuple[BookId, ...]:
        return books_for(self.request, book)

    @asynccontextmanager
    async def searching(self, book: BookId | None) -> AsyncIterator[None]:
        charge_address(self.request, CHARGES["/v1/search"])
        await charge_search(self.request, book)
        async with client_place(capacity_of(self.request).searches, self.request):
            yield

    @asynccontextmanager
    async def answering(self, book: BookId | None) -> AsyncIterator[None]:
        charge_address(self.request, CHARGES["/v1/chat"])
        async with (
            client_place(capacity_of(self.request).answers, self.request),
            answer_charged(self.request, book),
        ):
            yield

    def searched(
        self, events: AsyncGenerator[AnswerEvent, None]
    ) -> AsyncGenerator[AnswerEvent, None]:
        return searched(events, self.request)


def tool_server(caller: Caller) -> Server[dict[str, Any]]:
    async def list_tools(
        _: Context, __: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=_described())

    async def call_tool(
        context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        with _recorded():
            return await _called(params.name, params.arguments or {}, *caller(context))

    return Server(
        "textbook-rag",
        version=metadata.version("textbook-rag"),
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _described() -> list[types.Tool]:
    return [
        types.Tool(
            name=one.name,
            description=one.description,
            input_schema=one.arguments.model_json_schema(),
            output_schema=one.result.model_json_schema(mode="serialization"),
            annotations=types.ToolAnnotations(read_only_hint=True, open_world_hint=False),
        )
        for one in TOOLS.values()
    ]


async def _called(
    name: str, given: Mapping[str, Any], rag: Application, admission: Admission
) -> types.CallToolResult:
    """Run a tool; its errors are returned as results, for the model to read."""
    tool = TOOLS.get(name)
    if tool is None:
        return _failed(f"there is no tool {name[:80]!r}; there are {', '.join(TOOLS)}")
    try:
        arguments = tool.arguments.model_validate(given)
    except ValidationError as error:
        faults = [f"{one.field}: {one.message}" for one in invalid_fields(error.errors())]
        return _failed("; ".join(faults))
    try:
        result = await tool.call(rag, admission, arguments)
    except Exception as error:  # noqa: BLE001 - reported to the caller without details
        report(error)
        failure = error_event(error)
        logged = status_of(error).status >= HTTPStatus.INTERNAL_SERVER_ERROR
        where = f" (request {request_id()})" if logged else ""
        return _failed(f"{failure.message}{where} ({failure.code})")
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=printable(result.text))],
        structured_content=result.result.model_dump(mode="json"),
    )


def _failed(message: str) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=message)], is_error=True
    )


@contextmanager
def _recorded() -> Iterator[None]:
    """Over stdio, give a call an id and log its failure. A request over HTTP has them already."""
    if current().request_id:
        yield
        return
    with recording(uuid4().hex[:16]) as record:
        yield
        if failed := record.failure:
            fields = {"code": failed.code, "reason": failed.reason}
            _log.warning("mcp.call_failed", extra=fields | {"once_a_second": False})


async def serve_stdio(rag: Application) -> None:
    """Answer on this process's stdin and stdout until stdin ends."""
    server = tool_server(lambda _: (rag, Owner()))
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


class McpEndpoint:
    """The ASGI application of `POST /v1/mcp`.

    A call is cancelled when its client disconnects, and ends with 503 when the server stops.
    """

    def __init__(self) -> None:
        self._server = tool_server(_visitor)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        runs: AnswerRuns = request.app.state.answer_runs
        work = runs.unless_closed(self._answer(scope, await request.body(), send))
        with suppress(ClientDisconnect):  # also raised after a complete response
            await unless_disconnected(receive, work)

    async def _answer(self, scope: Scope, body: bytes, send: Send) -> None:
        # A manager per request, so that it ends with the request. Stateless: nothing is shared.
        manager = StreamableHTTPSessionManager(self._server, json_response=True, stateless=True)
        async with manager.run():
            await manager.handle_request(scope, _once(body), send)


def _visitor(context: Context) -> tuple[Application, Admission]:
    request = context.request
    if request is None:
        message = "a call over HTTP without its request"
        raise RuntimeError(message)
    return request.app.state.application, Visitor(request)


def _once(body: bytes) -> Receive:
    """Return a `receive` that gives the body and then waits; the caller watches the disconnect."""
    given = False

    async def receive() -> Message:
        nonlocal given
        if given:
            await asyncio.Event().wait()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive
