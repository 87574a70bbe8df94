"""Access to the API: checks the key of each request to `/v1/`, its origin and its books."""

from ipaddress import ip_address
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPBearer
from starlette.datastructures import Headers

from app.api.limits import client_of
from app.api.problems import Refused
from app.bootstrap.storage import SiteKeys
from app.domain.book_id import BookId
from app.domain.errors import BookNotAllowed, ConfigError, StorageError
from app.domain.site_key import KeyKind, SiteKey, find_key
from app.domain.urls import origin_of
from app.settings import Settings

API_PREFIX = "/v1/"
FEEDBACK = "/v1/feedback"
DESCRIPTION = "/v1/openapi.json"
"""Needs no key: it describes the API and has no data of books."""
_FORWARDED = frozenset({"forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via"})
_PREFIXES = tuple(f"{kind}_" for kind in KeyKind)
_CHALLENGE = {"WWW-Authenticate": "Bearer"}
_UNKNOWN_KEY = (
    "the server does not know this key, or it was revoked: make one with `textbook-rag keys add`"
)

BEARER = HTTPBearer(
    scheme_name="SiteKey",
    auto_error=False,
    description="A key of `textbook-rag keys add`: publishable (`pk_...`, with the `Origin` of its "
    "web site) or secret (`sk_...`). Without keys the API is open to the same machine only.",
)
"""Only for the OpenAPI document; `require_key` checks the key."""


def require_key(request: Request, keys: SiteKeys, *, open_to_all: bool) -> None:
    """Refuse a request to the API without a valid key; keep the key in the request's state.

    If the server has no keys, it answers only requests from this machine that no proxy forwarded.
    With `open_to_all`, no key is needed. A key that starts with `pk_` or `sk_` must always be
    valid. StorageError if the keys cannot be read.
    """
    path = request.scope["path"]
    if not path.startswith(API_PREFIX) or path == DESCRIPTION:
        return
    # Clients of other protocols always send some key, such as `none`.
    ours = _sent(request)[1].startswith(_PREFIXES)
    if not ours and (open_to_all or (not keys.all() and is_local(request))):
        return
    found = _valid_key(request, keys)
    if not found.allows_origin(_page_origin(request.headers)):
        raise Refused(403, "origin_not_allowed", "the key is not valid for the page's origin")
    request.state.site_key = found


async def admin_key(request: Request) -> SiteKey:
    """Dependency: the request's secret key; the owner needs it even on this machine. Refused."""
    found = _valid_key(request, request.app.state.keys)
    if found.kind is not KeyKind.SECRET:
        detail = "a publishable key is for readers' questions only"
        raise Refused(403, "secret_key_required", detail)
    return found


async def require_operator(request: Request) -> None:
    """Dependency: the request needs a secret key for all books, or no key from this machine.

    Refused, BookNotAllowed.
    """
    if _sent(request)[0] or not is_local(request):
        key = await admin_key(request)
        if key.books:
            raise BookNotAllowed("the key is not valid for all books")


AdminKey = Annotated[SiteKey, Depends(admin_key)]


def _sent(request: Request) -> tuple[str, str]:
    """Return scheme and key; "" for a missing part.

    A beacon has no headers of its own, so its publishable key is in its address.
    """
    header = request.headers.get("authorization", "").strip()
    beacon = request.query_params.get("key", "") if request.scope["path"] == FEEDBACK else ""
    if not header and beacon.startswith(f"{KeyKind.PUBLISHABLE}_"):
        return "bearer", beacon
    scheme, _, key = header.partition(" ")
    return scheme.lower(), key.strip()


def _valid_key(request: Request, keys: SiteKeys) -> SiteKey:
    """Return the request's key. Refused if it has none, or one that the server does not know."""
    scheme, key = _sent(request)
    if not scheme:
        detail = "send a key of `textbook-rag keys add`: `Authorization: Bearer pk_...` or `sk_...`"
        raise Refused(401, "key_required", detail, _CHALLENGE)
    found = find_key(key, keys.all()) if scheme == "bearer" else None
    if found is None:
        raise Refused(401, "key_unknown", _UNKNOWN_KEY, _CHALLENGE)
    return found


def is_local(request: Request) -> bool:
    """Whether the client is on this machine, asks it by its name, and no proxy is between them."""
    forwarded = not _FORWARDED.isdisjoint(request.headers.keys())
    here = is_loopback(client_of(request)) and is_loopback(host_of(request.headers))
    return here and not forwarded


def allowed(key: SiteKey | None, book: BookId) -> BookId:
    """Return the book. BookNotAllowed if the key is not valid for it."""
    if key and key.books and book not in key.books:
        raise BookNotAllowed(f"the key is not valid for book {book!r}")
    return book


def books_for(request: Request, book: BookId | None) -> tuple[BookId, ...]:
    """Return the books to ask: `book`, or the books of the request's key; () means all books.

    BookNotAllowed if the key is not valid for `book`.
    """
    key: SiteKey | None = getattr(request.state, "site_key", None)  # None: allowed without one
    if book:
        return (allowed(key, book),)
    return key.books if key else ()


def has_keys(keys: SiteKeys) -> bool:
    """Whether the server has keys; true if they cannot be read, so that it is never open then."""
    try:
        return bool(keys.all())
    except StorageError:
        return True


def require_keys(settings: Settings, keys: SiteKeys) -> None:
    """ConfigError if other machines could ask without a key and the server is not set to open."""
    if settings.open or has_keys(keys):
        return
    if settings.trusted_proxies:
        why = "RAG_TRUSTED_PROXIES is set"
    elif not is_loopback(settings.host):
        why = f"RAG_HOST {settings.host!r} is not a loopback address"
    else:
        return
    raise ConfigError(
        f"{why}, so others may ask and spend: make a key (`textbook-rag keys add`), or allow "
        "everybody with RAG_OPEN=true"
    )


def _page_origin(headers: Headers) -> str:
    """Return the origin of the page that sent the request; "" if unknown.

    In a same-origin GET, browsers send no `Origin`, but the page's address as `Referer`.
    """
    if "origin" in headers:
        return headers["origin"]
    try:
        return origin_of(headers.get("referer", ""))
    except ValueError:
        return ""


def host_of(headers: Headers) -> str:
    """Return the `Host` without its port, in lower case; an IPv6 address without brackets."""
    host = headers.get("host", "").strip().lower()
    return host[1:].partition("]")[0] if host[:1] == "[" else host.partition(":")[0]


def is_loopback(host: str) -> bool:
    """Whether a host is this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
