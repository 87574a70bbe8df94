"""Keys of web sites and servers that may use the API."""

import hashlib
import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from app.domain.book_id import BookId
from app.domain.errors import InputError
from app.domain.urls import in_ascii, is_web_address

_ORIGIN = re.compile(r"https?://[^/\s?#@]+")
ID_LENGTH = 10
"""Length of a key's id: the first hexadecimal digits of its hash."""


class KeyKind(StrEnum):
    PUBLISHABLE = "pk"
    """Embedded in the pages of a web site; valid for its origins and books only."""
    SECRET = "sk"
    """Used by a server or by the owner; never sent to a browser."""


@dataclass(frozen=True, slots=True)
class SiteKey:
    """A stored key: its hash, not the key itself."""

    kind: KeyKind
    digest: str
    """SHA-256 in hexadecimal. Keys are random, 256 bits, so a slow hash would add nothing."""
    origins: tuple[str, ...] = ()
    books: tuple[BookId, ...] = ()
    """Books that the key may ask; empty: all."""
    label: str = ""
    created_at: str = ""
    """ISO 8601, UTC."""

    def __post_init__(self) -> None:
        if self.kind is KeyKind.PUBLISHABLE and not self.origins:
            message = "a publishable key needs the origins of its web site: --origin https://HOST"
            raise InputError(message)

    @property
    def id(self) -> str:
        return self.digest[:ID_LENGTH]

    def allows_origin(self, origin: str) -> bool:
        return self.kind is KeyKind.SECRET or origin in self.origins


def new_key(kind: KeyKind, random: bytes) -> str:
    """Return the key for 32 random bytes, such as `pk_1f0c...`."""
    return f"{kind}_{random.hex()}"


def digest_of(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


def find_key(key: str, known: Sequence[SiteKey]) -> SiteKey | None:
    """Return the stored key, or None. Hashes are compared in constant time."""
    digest, found = digest_of(key), None
    for one in known:
        if hmac.compare_digest(one.digest, digest):
            found = one
    return found


def checked_origin(text: str) -> str:
    """Return the origin as browsers send it. InputError if the text is not `scheme://host[:port]`."""
    origin = text.strip().rstrip("/").lower()
    if not _ORIGIN.fullmatch(origin) or not is_web_address(origin):
        raise InputError(f"{text!r} is not an origin; write https://host[:port]")
    scheme, _, host = origin.partition("://")
    return f"{scheme}://{in_ascii(host).removesuffix({'http': ':80', 'https': ':443'}[scheme])}"
