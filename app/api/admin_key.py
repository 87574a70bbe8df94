"""Access for the owner: always with a secret key, even from this machine."""

from __future__ import annotations

import binascii
from base64 import b64decode
from typing import Annotated

from fastapi import Depends, HTTPException, Request

from app.api.keys import LONGEST_KEY
from app.bootstrap.key_store import SqliteSiteKeys
from app.domain.book_id import BookId
from app.domain.errors import BookNotAllowed
from app.domain.site_key import KeyKind, SiteKey, find_key


async def admin_key(request: Request) -> SiteKey:
    """Dependency: the request's secret key, as bearer token or as password of HTTP Basic.

    Browsers ask for the password; any user name is accepted. HTTPException 401 or 403.
    """
    keys: SqliteSiteKeys = request.app.state.keys
    text = _sent_key(request.headers.get("authorization", ""))
    found = find_key(text, keys.all()) if 0 < len(text) <= LONGEST_KEY else None
    if found is None:
        detail = "a secret key is needed (`textbook-rag keys add --secret`), as the password"
        scheme = "Bearer" if request.url.path.startswith("/v1/") else "Basic"
        challenge = {"WWW-Authenticate": f'{scheme} realm="textbook-rag", charset="UTF-8"'}
        raise HTTPException(401, detail, challenge)
    if found.kind is not KeyKind.SECRET:
        raise HTTPException(403, "a publishable key cannot do this: a secret key is needed")
    return found


AdminKey = Annotated[SiteKey, Depends(admin_key)]


def allowed(key: SiteKey, book: BookId) -> BookId:
    """Return the book. BookNotAllowed if the key is not valid for it."""
    if key.books and book not in key.books:
        message = f"the key is not valid for book {book!r}"
        raise BookNotAllowed(message)
    return book


def _sent_key(authorization: str) -> str:
    scheme, _, value = authorization.strip().partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    if scheme.lower() != "basic":
        return ""
    try:
        return b64decode(value, validate=True).decode().partition(":")[2]
    except (binascii.Error, UnicodeDecodeError):
        return ""
