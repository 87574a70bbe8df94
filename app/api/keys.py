"""Access to the API: checks the key of each request to `/v1/`, its origin and its books."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_address
from urllib.parse import urlsplit

from fastapi import Request
from fastapi.security import HTTPBearer
from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from app.api.limits import client_of
from app.api.problems import problem_response, report, status_of
from app.bootstrap.key_store import SqliteSiteKeys
from app.domain.book_id import BookId
from app.domain.errors import BookNotAllowed, ConfigError, StorageError
from app.domain.site_key import KeyKind, SiteKey, find_key
from app.settings import Settings

API_PREFIX = "/v1/"
WITHOUT_KEY = ("/v1/docs", "/v1/openapi.json")
"""Paths below the prefix that need no key: they describe the API and have no data of books."""
_FORWARDED = frozenset({"forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via"})
_PREFIXES = tuple(f"{kind}_" for kind in KeyKind)
LONGEST_KEY = 200
_UNKNOWN_KEY = (
    "the server does not know this key, or it was revoked: make one with `textbook-rag keys add`"
)

BEARER = HTTPBearer(
    scheme_name="SiteKey",
    auto_error=False,
    description="A key of `textbook-rag keys add`: publishable (`pk_...`, with the `Origin` of its "
    "web site) or secret (`sk_...`). Without keys the API is open to the same machine only.",
)
"""Only for the OpenAPI document; `KeyRequired` checks the key."""


class KeyRequired:
    """Middleware that refuses requests to the API without a valid key.

    If the server has no keys, it answers only requests from this machine that no proxy forwarded.
    With `open_to_all`, no key is needed. A key that starts with `pk_` or `sk_` must always be
    valid.
    """

    def __init__(self, app: ASGIApp, keys: SqliteSiteKeys, *, open_to_all: bool) -> None:
        self._app = app
        self._keys = keys
        self._open = open_to_all

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        if (
            scope["type"] != "http"
            or not path.startswith(API_PREFIX)
            or any(path == one or path.startswith(f"{one}/") for one in WITHOUT_KEY)
        ):
            await self._app(scope, receive, send)
            return
        refused = self._refusal(Request(scope))
        if refused is None:
            await self._app(scope, receive, send)
            return
        status, code, detail = refused
        response = problem_response(status, code, detail, str(scope["state"]["request_id"]))
        if status == 401:
            response.headers["WWW-Authenticate"] = "Bearer"
        if status == 503:
            response.headers["Retry-After"] = "30"
        await response(scope, receive, send)

    def _refusal(self, request: Request) -> tuple[int, str, str] | None:
        """Return status, code and detail of a refusal; None if the request is allowed.

        A valid key is stored in the request's state.
        """
        try:
            known = self._keys.all()
        except StorageError as error:
            report(error, str(request.state.request_id))
            return status_of(error).status, error.code, status_of(error).detail
        scheme, key = _sent(request)
        needs_none = self._open or (not known and is_local(request))
        # Clients of other protocols always send some key, such as `none`.
        if needs_none and not key.startswith(_PREFIXES):
            return None
        if not scheme:
            return 401, "key_required", "send a key: `Authorization: Bearer pk_...`"
        found = _known_key(scheme, key, known)
        if found is None:
            return 401, "key_unknown", _UNKNOWN_KEY
        if not found.allows_origin(origin_of(request.headers)):
            return 403, "origin_not_allowed", "the key is not valid for the page's origin"
        request.state.site_key = found
        return None


def operator_refusal(request: Request) -> tuple[int, str, str] | None:
    """Return a refusal unless the request has a secret key, or no key and is from this machine.

    The refusal is status, code and detail.
    """
    keys: SqliteSiteKeys = request.app.state.keys
    scheme, key = _sent(request)
    if not scheme:
        if is_local(request):
            return None
        return 401, "key_required", "send a secret key: `Authorization: Bearer sk_...`"
    found = _known_key(scheme, key, keys.all())
    if found is None:
        return 401, "key_unknown", _UNKNOWN_KEY
    if found.kind is not KeyKind.SECRET:
        return 403, "secret_key_required", "a publishable key is for readers' questions only"
    return None


def _sent(request: Request) -> tuple[str, str]:
    """Return scheme (lower case) and key of the Authorization header; "" for a missing part."""
    scheme, _, key = request.headers.get("authorization", "").strip().partition(" ")
    return scheme.lower(), key.strip()


def _known_key(scheme: str, key: str, known: Sequence[SiteKey]) -> SiteKey | None:
    return find_key(key, known) if scheme == "bearer" and len(key) <= LONGEST_KEY else None


def is_local(request: Request) -> bool:
    """Whether the client is on this machine and no proxy forwarded the request."""
    try:
        loopback = ip_address(client_of(request)).is_loopback
    except ValueError:
        return False
    return loopback and _FORWARDED.isdisjoint(request.headers.keys())


def is_page_of_this_machine(origin: str) -> bool:
    """Whether the origin's host is a loopback address or `localhost`."""
    try:
        return _is_loopback(urlsplit(origin).hostname or "")
    except ValueError:
        return False


def origin_of(headers: Headers) -> str:
    """Return the origin of the page that sent the request; "" if unknown.

    In a same-origin GET, browsers send no `Origin`, but the page's address as `Referer`.
    """
    if "origin" in headers:
        return headers["origin"]
    try:
        page = urlsplit(headers.get("referer", ""))
    except ValueError:
        return ""
    return f"{page.scheme}://{page.netloc}" if page.netloc else ""


def key_of(request: Request) -> SiteKey | None:
    """Return the request's key; None if it was allowed without one."""
    return getattr(request.state, "site_key", None)


def books_for(request: Request, book: BookId | None) -> tuple[BookId, ...]:
    """Return the books to ask: `book`, or the books of the request's key; () means all books.

    BookNotAllowed if the key is not valid for `book`.
    """
    key = key_of(request)
    if key is None or not key.books:
        return (book,) if book else ()
    if book and book not in key.books:
        message = f"the key is not valid for book {book!r}"
        raise BookNotAllowed(message)
    return (book,) if book else key.books


class SiteOrigins(CORSMiddleware):
    """CORS for the origins of the settings and of the publishable keys."""

    def __init__(self, app: ASGIApp, keys: SqliteSiteKeys, allow_origins: Sequence[str]) -> None:
        super().__init__(
            app,
            allow_origins=allow_origins,
            # The API has no cookies, so even `*` exposes nothing.
            allow_credentials=False,
            allow_methods=["GET", "HEAD", "POST"],
            allow_headers=["Authorization", "Content-Type", "Accept", "Last-Event-ID"],
            expose_headers=["X-Request-ID", "Retry-After"],
            max_age=600,
        )
        self._keys = keys

    def is_allowed_origin(self, origin: str) -> bool:
        return super().is_allowed_origin(origin) or origin in self._of_keys()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.allow_all_origins or self.allow_origins or self._of_keys():
            await super().__call__(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    def _of_keys(self) -> frozenset[str]:
        try:
            return frozenset(origin for key in self._keys.all() for origin in key.origins)
        except StorageError:
            return frozenset()


def require_keys(settings: Settings, keys: SqliteSiteKeys) -> None:
    """ConfigError if other machines could ask without a key and the server is not set to open."""
    if settings.open or keys.all():
        return
    if settings.trusted_proxies:
        why = "RAG_TRUSTED_PROXIES is set"
    elif not _is_loopback(settings.host):
        why = f"{settings.host} is not a loopback address"
    else:
        return
    message = (
        f"{why}, so others may ask and spend: make a key (`textbook-rag keys add`), or allow "
        "everybody with --open or RAG_OPEN=true"
    )
    raise ConfigError(message)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
