"""Web origins: of the page that sends a request, and CORS for those that may ask."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from app.bootstrap.local_state import SiteKeys
from app.domain.errors import StorageError


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
        return super().is_allowed_origin(origin) or origin in self._of_keys()

    def _of_keys(self) -> frozenset[str]:
        try:
            return frozenset(origin for key in self._keys.all() for origin in key.origins)
        except StorageError:
            return frozenset()


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
