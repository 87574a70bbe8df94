"""Commands on the keys that may use the API: keys add, list, revoke."""

from __future__ import annotations

import argparse
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime

from app.bootstrap.key_store import site_keys
from app.bootstrap.storage import open_index
from app.cli.output import print_json
from app.cli.printing import remark
from app.domain.book_id import BookId
from app.domain.errors import BookNotFound, InputError, StorageError
from app.domain.site_key import KeyKind, SiteKey, checked_origin, digest_of, new_key
from app.settings import Settings

_MIN_ID = 4
"""Minimum digits of an id for `revoke`."""


async def add(arguments: argparse.Namespace, settings: Settings) -> None:
    """Print the new key; only its hash is stored."""
    kind = KeyKind.SECRET if arguments.secret else KeyKind.PUBLISHABLE
    if arguments.secret and arguments.origin:
        message = "a secret key is not for browsers, so it has no origins: leave out --origin"
        raise InputError(message)
    text = new_key(kind, secrets.token_bytes(32))
    key = SiteKey(
        kind,
        digest_of(text),
        tuple(dict.fromkeys(map(checked_origin, arguments.origin))),
        tuple(dict.fromkeys(arguments.book)),
        arguments.label,
        datetime.now(UTC).isoformat(timespec="microseconds"),
    )
    site_keys(settings).add(key)
    if arguments.json:
        print_json({**_shown(key), "key": text})
    else:
        remark(f"key {key.id}, shown only now:")
        print(text)
    await _warn_of_missing(key.books, settings)


async def _warn_of_missing(books: Sequence[BookId], settings: Settings) -> None:
    """Only a warning: a key may be made before its book is ingested, or while the index is down."""
    if not books:
        return
    try:
        async with open_index(settings) as index:
            known = {*await index.books(), *await index.damaged()}
    except StorageError as error:
        remark(f"warning: the key's books were not looked up: {error}")
        return
    names = known.union(one.name for one in known)
    for book in books:
        if book not in names:
            remark(f"warning: {BookNotFound.among(book, known)}")


async def listing(arguments: argparse.Namespace, settings: Settings) -> None:
    keys = site_keys(settings).all()
    if arguments.json:
        print_json([_shown(key) for key in keys])
        return
    for key in keys:
        where = " ".join(key.origins) or "servers"
        books = " ".join(key.books) or "all books"
        print(f"{key.id}  {key.kind.name.lower():11}  {where}  {books}  {key.label}".rstrip())
    if not keys:
        remark("no keys: the API answers only this machine, unless `serve` has --open")


async def revoke(arguments: argparse.Namespace, settings: Settings) -> None:
    keys = site_keys(settings)
    enough = len(arguments.id) >= _MIN_ID
    found = [one for one in keys.all() if enough and one.digest.startswith(arguments.id)]
    if len(found) != 1:
        count = f"{len(found)} keys have" if found else "no key has"
        message = f"{count} the id {arguments.id!r}; see `textbook-rag keys list`"
        raise InputError(message)
    keys.remove(found[0])
    remark(f"key {found[0].id} is revoked: the next request with it is refused")


def _shown(key: SiteKey) -> dict[str, object]:
    return {
        "id": key.id,
        "kind": key.kind.name.lower(),
        "origins": key.origins,
        "books": key.books,
        "label": key.label,
        "created_at": key.created_at,
    }
