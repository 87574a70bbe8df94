"""Middleware for every request: what is checked before its body is read, and response headers.

It is plain ASGI middleware: Starlette's BaseHTTPMiddleware would buffer streams and hide
disconnects. FastAPI's `max_body_size` answers with plain text, past the log.
"""

import re
from collections.abc import Iterable, Sequence

from fastapi import FastAPI, Request
from starlette.datastructures import MutableHeaders
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.keys import API_PREFIX, has_keys, host_of, is_loopback, require_key
from app.api.limits import charge
from app.api.problems import CLOSE, Refused
from app.api.request_log import RecordedRequests
from app.bootstrap.storage import SiteKeys
from app.domain.errors import StorageError
from app.settings import Settings

MAX_BODY_BYTES = 64 * 1024
CONVERSATION_BYTES = 256 * 1024
"""Body limit for protocols whose clients send the whole conversation with each question."""
MAX_ARCHIVE_BYTES = 2**28
"""Body limit of an upload: a book's built site with its pictures."""
_WITH_CONVERSATION = ("/v1/chat/completions", "/v1/ai-sdk")
_UPLOAD = re.compile(r"/v1/admin/books/[^/]+/ingest")

_API_POLICY = "default-src 'none'; frame-ancestors 'none'"
_FIXED_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "strict-origin-when-cross-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
_WIDGET = re.compile(r"/widget[./].*")
_WIDGET_HEADERS = {
    # Every site may load the widget; access is checked at /v1.
    "Access-Control-Allow-Origin": "*",
    "Cross-Origin-Resource-Policy": "cross-origin",
}
_HASHED = re.compile(r"/widget/.*-[A-Z0-9]{8}\.js")


def page_policy(image_origins: Iterable[str]) -> str:
    """Return the policy of a page of this server, with images of its own and of these origins."""
    images = " ".join(dict.fromkeys(["'self'", "data:", *filter(None, image_origins)]))
    return (
        f"default-src 'none'; script-src 'self'; style-src 'self'; img-src {images}; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


class SecurityHeaders:
    def __init__(self, app: ASGIApp, image_origins: Sequence[str] = ()) -> None:
        self._app = app
        self._page_policy = page_policy(image_origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                is_page = headers.get("content-type", "").startswith("text/html")
                policy = self._page_policy if is_page else _API_POLICY
                headers.setdefault("Content-Security-Policy", policy)
                headers.setdefault("Cache-Control", _caching(scope["path"], message["status"]))
                if _WIDGET.fullmatch(scope["path"]):
                    headers.update(_WIDGET_HEADERS)
                for name, value in _FIXED_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, send_with_headers)


def _caching(path: str, status: int) -> str:
    """Return how long a copy is good: that of a page or of the widget's script until a restart."""
    if _HASHED.fullmatch(path) and status < 400:
        return "public, max-age=31536000, immutable"
    return "no-store" if path.startswith(API_PREFIX) else "no-cache"


class SiteOrigins(CORSMiddleware):
    """CORS for the origins of the settings and of the publishable keys."""

    def __init__(self, app: ASGIApp, keys: SiteKeys, allow_origins: Sequence[str]) -> None:
        super().__init__(
            app,
            allow_origins=allow_origins,
            # The API has no cookies, so even `*` exposes nothing.
            allow_credentials=False,
            allow_methods=["GET", "HEAD", "POST"],
            allow_headers=["Authorization", "Content-Type", "Accept"],
            expose_headers=["X-Request-ID", "Retry-After"],
            max_age=600,
        )
        self._keys = keys

    def is_allowed_origin(self, origin: str) -> bool:
        if super().is_allowed_origin(origin):
            return True
        try:
            return any(origin in key.origins for key in self._keys.all())
        except StorageError:
            return False


class AccessControl:
    """Middleware that checks a request before its body is read, and limits the body.

    HEAD goes on as GET (RFC 9110, 9.3.2); the server leaves the body out.
    """

    def __init__(self, app: ASGIApp, origins: Sequence[str], *, open_to_all: bool) -> None:
        self._app = app
        self._origins = origins
        self._open = open_to_all

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            request, keys = Request(scope), scope["app"].state.keys
            receive = limited(request, receive)
            if not (self._open or has_keys(keys)):
                check_origin(request, self._origins)
            charge(request)
            require_key(request, keys, open_to_all=self._open)
            if scope["method"] == "HEAD":
                scope = {**scope, "method": "GET"}
        await self._app(scope, receive, send)


def limited(request: Request, receive: Receive) -> Receive:
    """Return what receives the body. Refused, now or then, if it is larger than the path takes.

    Refused with two length headers: a proxy may see another end of the body (RFC 9112, 6.1).
    """
    if "content-length" in request.headers and "transfer-encoding" in request.headers:
        detail = "a request must not have both Content-Length and Transfer-Encoding"
        raise Refused(400, "bad_request", detail, CLOSE)
    left = body_limit(request.scope["path"])
    detail = f"the request's body is larger than {left:,} bytes"
    too_large = Refused(413, "body_too_large", detail, CLOSE)

    async def receive_some() -> Message:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        if left < 0:
            raise too_large
        return message

    if int(request.headers.get("content-length", "0")) > left:
        raise too_large
    return receive_some


def body_limit(path: str) -> int:
    if _UPLOAD.fullmatch(path):
        return MAX_ARCHIVE_BYTES
    return CONVERSATION_BYTES if path in _WITH_CONVERSATION else MAX_BODY_BYTES


def check_origin(request: Request, origins: Sequence[str]) -> None:
    """Refuse other names and pages than this machine's; `origins` are those of other pages.

    Otherwise any page that is open on the machine could ask, also by a name that it points at the
    machine (DNS rebinding).
    """
    if not is_loopback(host_of(request.headers)):
        raise Refused(400, "host_not_allowed", "the server does not serve this host")
    own = f"{request.scope['scheme']}://{request.headers.get('host', '')}".lower()
    asking = request.headers.get("origin", own)
    if not (_WIDGET.fullmatch(request.scope["path"]) or {asking, "*"} & {own, *origins}):
        detail = "pages of this origin may not ask: RAG_ALLOWED_ORIGINS, or keys, allow them"
        raise Refused(403, "origin_not_allowed", detail)


def install(app: FastAPI, settings: Settings) -> None:
    """Add the middleware, innermost first."""
    origins = settings.allowed_origins
    app.add_middleware(AccessControl, origins=origins, open_to_all=settings.open)
    app.add_middleware(RecordedRequests)
    app.add_middleware(SiteOrigins, keys=app.state.keys, allow_origins=origins)
    app.add_middleware(SecurityHeaders, image_origins=settings.image_origins)
