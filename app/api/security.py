"""Middleware for every request: what is checked at the door, body limits, response headers.

It is plain ASGI middleware: Starlette's BaseHTTPMiddleware would buffer streams and hide
disconnects. FastAPI's `max_body_size` has no time limit, and its 413 is no problem document and not
in the log.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from fastapi import FastAPI, Request
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from app.api.keys import has_keys, require_key
from app.api.limits import charge_request, trusted_proxies
from app.api.metrics import Metrics
from app.api.origins import SiteOrigins, allowed_origins, host_of, is_loopback
from app.api.problems import CLOSE, Refused
from app.api.request_log import RecordedRequests
from app.bootstrap.key_store import SqliteSiteKeys
from app.settings import Settings

if TYPE_CHECKING:
    from app.bootstrap.traces import Traces

MAX_HEAD_BYTES = 16 * 1024
"""Maximum bytes of the request target and all names and values of headers together."""
MAX_BODY_BYTES = 64 * 1024
CONVERSATION_BYTES = 256 * 1024
"""Body limit for protocols whose clients send the whole conversation with each question."""
MAX_ARCHIVE_BYTES = 2**28
"""Body limit of an upload: a book's built site with its pictures."""
_WITH_CONVERSATION = ("/v1/chat/completions", "/v1/ai-sdk")
BODY_SECONDS = 10.0
"""Time limit for a body, and a second more for each `BYTES_A_SECOND` of it."""
BYTES_A_SECOND = 64 * 1024
_DRAIN_SECONDS = 2.0
_DRAINED_BYTES = 2**20
API_DOCS_PATH = "/v1/docs"

_API_POLICY = "default-src 'none'; frame-ancestors 'none'"
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


def page_policy(image_origins: Iterable[str]) -> str:
    """Return the policy of a page of this server, with images of its own and of these origins."""
    images = " ".join(dict.fromkeys(["'self'", "data:", *filter(None, image_origins)]))
    return (
        f"default-src 'none'; script-src 'self'; style-src 'self'; img-src {images}; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def content_policy(path: str, content_type: str, image_origins: Iterable[str] = ()) -> str:
    if path.startswith(API_DOCS_PATH):
        return _SWAGGER_POLICY
    is_page = content_type.startswith("text/html")
    return page_policy(image_origins) if is_page else _API_POLICY


class SecurityHeaders:
    """Adds the headers of every response.

    A response to a request whose body was not read, as one without a key, closes the connection;
    without `Connection: close` the client would send its next request there and lose it.
    """

    def __init__(self, app: ASGIApp, image_origins: Sequence[str] = ()) -> None:
        self._app = app
        self._image_origins = image_origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        unread = scope["type"] == "http" and _has_body(Headers(scope=scope))

        async def reading() -> Message:
            nonlocal unread
            message = await receive()
            unread = unread and message.get("more_body", False)
            return message

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                policy = content_policy(
                    scope["path"], headers.get("content-type", ""), self._image_origins
                )
                headers.setdefault("Content-Security-Policy", policy)
                stored = not scope["path"].startswith(_NOT_STORED)
                # A copy of a page or of the widget may be out of date after any restart.
                headers.setdefault("Cache-Control", "no-cache" if stored else "no-store")
                for name, value in _FIXED_HEADERS.items():
                    headers.setdefault(name, value)
                if unread:
                    headers.update(CLOSE)
            await send(message)

        await self._app(scope, reading if unread else receive, send_with_headers)


def _has_body(headers: Headers) -> bool:
    return "transfer-encoding" in headers or headers.get("content-length", "0") != "0"


Check = Callable[[Request], None]


class Door:
    """Middleware that runs checks in their order before a request's body is read.

    HEAD goes on as GET (RFC 9110, 9.3.2); the server leaves the body out.
    """

    def __init__(self, app: ASGIApp, checks: Sequence[Check]) -> None:
        """Each check raises why the request is refused."""
        self._app = app
        self._checks = checks

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            request = Request(scope)
            for check in self._checks:
                check(request)
            if scope["method"] == "HEAD":
                scope = {**scope, "method": "GET"}
        await self._app(scope, receive, send)


def check_head(request: Request) -> None:
    """Refuse a too large head, and an ambiguous length of the body.

    If a request has both length headers, a proxy may see another end of the body (RFC 9112, 6.1).
    """
    size = sum(len(name) + len(value) for name, value in request.headers.raw)
    size += len(request.scope.get("raw_path") or b"") + len(request.scope["query_string"])
    if size > MAX_HEAD_BYTES:
        detail = f"the request's address and headers are larger than {MAX_HEAD_BYTES:,} bytes"
        raise Refused(431, "head_too_large", detail, CLOSE)
    if "content-length" in request.headers and "transfer-encoding" in request.headers:
        detail = "a request must not have both Content-Length and Transfer-Encoding"
        raise Refused(400, "bad_request", detail, CLOSE)


def check_origin(request: Request, origins: Sequence[str], public: Callable[[], bool]) -> None:
    """Refuse other names and pages than this machine's, unless the server is `public`.

    Otherwise any page that is open on the machine could ask, also by a name that it points at the
    machine (DNS rebinding). `origins` are those of other pages that may ask.
    """
    if public():
        return
    if not is_loopback(host_of(request.headers)):
        raise Refused(400, "host_not_allowed", "the server does not serve this host", CLOSE)
    own = f"{request.scope['scheme']}://{request.headers.get('host', '')}".lower()
    asking = request.headers.get("origin", own)
    if not (_WIDGET.fullmatch(request.scope["path"]) or {asking, "*"} & {own, *origins}):
        detail = "pages of this origin may not ask: RAG_ALLOWED_ORIGINS, or keys, allow them"
        raise Refused(403, "origin_not_allowed", detail, CLOSE)


class BodyLimit:
    """Refuses a body that is too large or arrives too slowly, before it is parsed."""

    def __init__(self, app: ASGIApp, seconds: float = BODY_SECONDS) -> None:
        self._app = app
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            limited = self._limited(scope, receive)
            # An upload's route writes the body to a file while it arrives.
            receive = limited if _is_upload(scope) else await _whole(limited)
        await self._app(scope, receive, send)

    def _limited(self, scope: Scope, receive: Receive) -> Receive:
        """Return `receive` that raises Refused: 413 for a large body, 408 for a slow one."""
        limit, size, more = body_limit(scope), 0, True
        claimed = int(Headers(scope=scope).get("content-length", "0"))
        ends = asyncio.get_running_loop().time() + self._seconds

        async def limited() -> Message:
            nonlocal size, more, ends
            if not more:
                return await receive()
            try:
                async with asyncio.timeout_at(ends):
                    message = await receive()
            except TimeoutError:
                detail = f"the request's body did not arrive within {self._seconds:g} s"
                raise Refused(408, "request_timeout", detail, CLOSE) from None
            more = message.get("more_body", False)
            size += len(message.get("body", b""))
            ends += len(message.get("body", b"")) / BYTES_A_SECOND
            if max(size, claimed) > limit:
                await _drain(receive if more else None)
                detail = f"the request's body is larger than {limit:,} bytes"
                raise Refused(413, "body_too_large", detail, CLOSE)
            return message

        return limited


def _is_upload(scope: Scope) -> bool:
    return scope["method"] == "POST" and bool(_UPLOAD.fullmatch(scope["path"]))


def body_limit(scope: Scope) -> int:
    """Return the most bytes of a request's body."""
    if _is_upload(scope):
        return MAX_ARCHIVE_BYTES
    return CONVERSATION_BYTES if scope["path"] in _WITH_CONVERSATION else MAX_BODY_BYTES


async def _whole(receive: Receive) -> Receive:
    """Read the body; return what gives it again. ClientDisconnect, and the errors of `receive`."""
    body, more = bytearray(), True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        body += message.get("body", b"")
        more = message.get("more_body", False)
    whole: list[Message] = [{"type": "http.request", "body": bytes(body), "more_body": False}]

    async def replay() -> Message:
        return whole.pop() if whole else await receive()

    return replay


async def _drain(receive: Receive | None) -> None:
    """Discard some of what a client is still sending.

    Closing at once would reset the connection, and the client could not read why.
    """
    left = _DRAINED_BYTES
    with suppress(TimeoutError):
        async with asyncio.timeout(_DRAIN_SECONDS):
            while receive and left > 0:
                message = await receive()
                left -= len(message.get("body", b""))
                if not message.get("more_body", False):
                    return


def install(
    app: FastAPI,
    settings: Settings,
    keys: SqliteSiteKeys,
    metrics: Metrics,
    traces: Traces | None,
) -> None:
    """Add the middleware, innermost first. Raises ConfigError."""
    origins = allowed_origins(settings.allowed_origins)

    def public() -> bool:
        return settings.open or has_keys(keys)

    checks: list[Check] = [
        check_head,
        partial(check_origin, origins=origins, public=public),
        charge_request,
        partial(require_key, keys=keys, open_to_all=settings.open),
    ]
    app.add_middleware(BodyLimit)
    app.add_middleware(Door, checks=checks)
    app.add_middleware(RecordedRequests, metrics=metrics, traces=traces)
    app.add_middleware(SiteOrigins, keys=keys, allow_origins=origins)
    app.add_middleware(SecurityHeaders, image_origins=settings.image_origins.split(","))
    trusted = trusted_proxies(settings.trusted_proxies)
    app.add_middleware(ProxyHeadersMiddleware, trusted_hosts=trusted)
