"""Middleware for every request: head and body limits, response headers.

It is plain ASGI middleware: Starlette's BaseHTTPMiddleware would buffer streams and hide
disconnects.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence

from fastapi import FastAPI
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from app.api.keys import KeyRequired, has_keys
from app.api.limits import RateLimited, trusted_proxies
from app.api.metrics import Metrics
from app.api.origins import SiteOrigins, allowed_origins, host_of, is_loopback
from app.api.problems import Refused
from app.api.request_log import RecordedRequests
from app.bootstrap.key_store import SqliteSiteKeys
from app.bootstrap.traces import Traces
from app.settings import Settings

MAX_HEAD_BYTES = 16 * 1024
"""Maximum bytes of the request target and all names and values of headers together."""
MAX_BODY_BYTES = 64 * 1024
CONVERSATION_BYTES = 256 * 1024
"""Body limit for protocols whose clients send the whole conversation with each question."""
_WITH_CONVERSATION = ("/v1/chat/completions", "/v1/ai-sdk")
BODY_SECONDS = 10.0
CLOSE = {"Connection": "close"}
"""Header of a response to a request whose body is not read."""
API_DOCS_PATH = "/v1/docs"

_API_POLICY = "default-src 'none'; frame-ancestors 'none'"
_PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
# Swagger UI sets inline styles.
_SWAGGER_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "connect-src 'self'; img-src 'self' data:; frame-ancestors 'none'"
)
_FIXED_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "strict-origin-when-cross-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
_NOT_STORED = ("/v1/", "/admin")
_WIDGET = re.compile(r"/widget[./].*")
_UPLOAD = re.compile(r"/v1/admin/books/[^/]+/ingest")


def content_policy(path: str, content_type: str) -> str:
    if path.startswith(API_DOCS_PATH):
        return _SWAGGER_POLICY
    return _PAGE_POLICY if content_type.startswith("text/html") else _API_POLICY


class SecurityHeaders:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                policy = content_policy(scope["path"], headers.get("content-type", ""))
                headers.setdefault("Content-Security-Policy", policy)
                stored = not scope["path"].startswith(_NOT_STORED)
                # A copy of a page or of the widget may be out of date after any restart.
                headers.setdefault("Cache-Control", "no-cache" if stored else "no-store")
                for name, value in _FIXED_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, send_with_headers if scope["type"] == "http" else send)


class UnreadBody:
    """Announces that the connection closes after a request whose body was not read.

    A request is refused by its head alone if it lacks a key, for example. The server then closes
    the connection; without the header, a client would send its next request there and lose it.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope) if scope["type"] == "http" else {}
        unread = "transfer-encoding" in headers or headers.get("content-length", "0") != "0"

        async def reading() -> Message:
            nonlocal unread
            message = await receive()
            unread = unread and message.get("more_body", False)
            return message

        async def closing(message: Message) -> None:
            if unread and message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(CLOSE)
            await send(message)

        await self._app(scope, reading if unread else receive, closing if unread else send)


class RequestHead:
    """Refuses a request with a too large head, an ambiguous body length or a wrong host.

    If a request has both length headers, a proxy may see another end of the body (RFC 9112, 6.1).
    A server that is not public answers only the names of this machine and its own pages. Otherwise
    any page that is open on the machine could ask, also by a name that it points at the machine
    (DNS rebinding).
    """

    def __init__(self, app: ASGIApp, origins: Sequence[str], public: Callable[[], bool]) -> None:
        """`origins` are those of other pages that may ask."""
        self._app = app
        self._origins = frozenset(origins)
        self._public = public

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            self._check(scope)
        await self._app(scope, receive, send)

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        size = sum(len(name) + len(value) for name, value in headers.raw)
        size += len(scope.get("raw_path") or b"") + len(scope["query_string"])
        if size > MAX_HEAD_BYTES:
            detail = f"the request's address and headers are larger than {MAX_HEAD_BYTES:,} bytes"
            raise Refused(431, "head_too_large", detail, CLOSE)
        if "content-length" in headers and "transfer-encoding" in headers:
            detail = "a request must not have both Content-Length and Transfer-Encoding"
            raise Refused(400, "bad_request", detail, CLOSE)
        if not (self._public() or is_loopback(host_of(headers))):
            raise Refused(400, "host_not_allowed", "the server does not serve this host", CLOSE)
        if not (self._public() or _WIDGET.fullmatch(scope["path"]) or self._is_welcome(scope)):
            detail = "pages of this origin may not ask: RAG_ALLOWED_ORIGINS, or keys, allow them"
            raise Refused(403, "origin_not_allowed", detail, CLOSE)

    def _is_welcome(self, scope: Scope) -> bool:
        headers = Headers(scope=scope)
        own = f"{scope['scheme']}://{headers.get('host', '')}".lower()
        return bool({headers.get("origin", own), "*"} & {own, *self._origins})


class HeadAsGet:
    """Answers HEAD like GET, without the body (RFC 9110, 9.3.2)."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return

        async def send_no_body(message: Message) -> None:
            await send({**message, "body": b""} if "body" in message else message)

        await self._app({**scope, "method": "GET"}, receive, send_no_body)


class BodyLimit:
    """Refuses a body that is too large or arrives too slowly, before it is parsed.

    It checks the Content-Length header and the real size.
    """

    def __init__(self, app: ASGIApp, seconds: float = BODY_SECONDS) -> None:
        self._app = app
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not _is_upload(scope):
            try:
                async with asyncio.timeout(self._seconds):
                    body = await _read_body(scope, receive)
            except TimeoutError:
                detail = f"the request's body did not arrive within {self._seconds:g} s"
                raise Refused(408, "request_timeout", detail, CLOSE) from None
            receive = _replay(body, receive)
        await self._app(scope, receive, send)


def _is_upload(scope: Scope) -> bool:
    """Whether the route checks the key, then writes the body to a file with other limits."""
    return scope["method"] == "POST" and bool(_UPLOAD.fullmatch(scope["path"]))


async def _read_body(scope: Scope, receive: Receive) -> bytes:
    """Return the whole body. Refused if it is too large; ClientDisconnect."""
    limit = CONVERSATION_BYTES if scope["path"] in _WITH_CONVERSATION else MAX_BODY_BYTES
    detail = f"the request's body is larger than {limit:,} bytes"
    if claims_more(Headers(scope=scope), limit):
        raise Refused(413, "body_too_large", detail, CLOSE)
    body, more = bytearray(), True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > limit:
            raise Refused(413, "body_too_large", detail, CLOSE)
    return bytes(body)


def claims_more(headers: Headers, limit: int) -> bool:
    """Whether Content-Length is above the limit, or no number."""
    claimed = headers.get("content-length", "0")
    return not claimed.isdecimal() or len(claimed) > 18 or int(claimed) > limit


def _replay(body: bytes, receive: Receive) -> Receive:
    delivered = False

    async def replay() -> Message:
        nonlocal delivered
        if delivered:
            return await receive()
        delivered = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def install(
    app: FastAPI,
    settings: Settings,
    keys: SqliteSiteKeys,
    metrics: Metrics,
    traces: Traces | None,
) -> None:
    """Add the middleware, innermost first. Raises ConfigError."""
    app.add_middleware(HeadAsGet)
    app.add_middleware(BodyLimit)
    app.add_middleware(KeyRequired, keys=keys, open_to_all=settings.open)
    app.add_middleware(RateLimited)
    app.add_middleware(
        RequestHead,
        origins=allowed_origins(settings.allowed_origins),
        public=lambda: settings.open or has_keys(keys),
    )
    app.add_middleware(RecordedRequests, metrics=metrics, traces=traces)
    app.add_middleware(
        SiteOrigins, keys=keys, allow_origins=allowed_origins(settings.allowed_origins)
    )
    app.add_middleware(SecurityHeaders)
    app.add_middleware(UnreadBody)
    app.add_middleware(
        ProxyHeadersMiddleware,
        trusted_hosts=trusted_proxies(settings.trusted_proxies),
    )
