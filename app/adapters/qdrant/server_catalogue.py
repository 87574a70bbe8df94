"""Which books a server holds: aliases `<prefix>_<book>` to collections `<prefix>_<book>_v<N>`.

A collection that is being written has its writer's lease in its metadata, since a server has no
locks. Creating the collection is the atomic step that admits one writer; from the lease a later
writer sees whether it is still working or died.
"""

from __future__ import annotations

import asyncio
import math
import os
import re
import secrets
import socket
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import cache

from qdrant_client import AsyncQdrantClient, models

from app.adapters.qdrant.manifest import manifest_from_json
from app.adapters.qdrant.server_errors import CollectionGone, server_errors
from app.domain.book_id import BookId
from app.domain.errors import BookNotFound, IndexUnreadable
from app.services.ports import BookManifest, Damage

LEASE_SECONDS = 600.0
"""A writer on another machine that has not renewed its lease for so long counts as dead."""

RENEW_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Lease:
    host: str
    pid: int
    process: str
    """Random: distinguishes processes with one id, as the first of every container has id 1."""
    started_at: str
    seen_at: float
    """Seconds since the epoch."""

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}, started {self.started_at}"

    def to_json(self) -> dict[str, object]:
        return asdict(self)

    def renewed(self) -> Lease:
        return replace(self, seen_at=time.time())

    def is_held(self) -> bool:
        if self.process == _this_process():
            return True
        if self.host == socket.gethostname():
            return self.pid != os.getpid() and _is_alive(self.pid)
        return time.time() - self.seen_at < LEASE_SECONDS


def new_lease() -> Lease:
    now = time.time()
    started = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return Lease(socket.gethostname(), os.getpid(), _this_process(), started, now)


def lease_from_json(data: object) -> Lease | None:
    if not isinstance(data, dict):
        return None
    try:
        return Lease(**data)
    except TypeError:
        return None


@cache
def _this_process() -> str:
    return secrets.token_hex(8)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


_RECHECK_SECONDS = 0.5
"""Shortest time between two requests for the server's aliases."""

_REMEMBER_SECONDS = 10.0
"""How long a collection's manifest is cached: a book that is removed and ingested again gets the
same names."""


@dataclass(frozen=True, slots=True)
class ServedBook:
    collection: str
    previous: str
    """Collection of the previous generation, "" if there is none."""
    manifest: BookManifest


@dataclass(frozen=True, slots=True)
class _DamagedBook:
    """A book whose collection has no valid manifest."""

    collection: str
    previous: str
    reason: str


@dataclass(frozen=True, slots=True)
class Stray:
    """A collection of a book that is not its current one."""

    collection: str
    lease: Lease | None


class Catalogue:
    """The books of one prefix. A collection that the alias points to never changes."""

    def __init__(
        self,
        client: AsyncQdrantClient,
        prefix: str,
        address: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """No request is sent yet. `clock` gives seconds."""
        self._client = client
        self.prefix = prefix
        self.address = address
        self._clock = clock
        self._books: dict[BookId, ServedBook] = {}
        self._damaged: dict[BookId, _DamagedBook] = {}
        self._failed: dict[BookId, str] = {}
        self._checked = -math.inf
        self._remembered = -math.inf
        self._asking = asyncio.Lock()

    def alias(self, book: BookId) -> str:
        return f"{self.prefix}_{BookId(book)}"

    def collection(self, book: BookId, number: int) -> str:
        return f"{self.alias(book)}_v{number}"

    def look_again(self) -> None:
        """Empty the cache: after a switch in this process, or for a fresh answer."""
        self._checked = self._remembered = -math.inf

    def damaged(self) -> dict[BookId, Damage]:
        """The books that could not be read at the last request."""
        found = {book: one.reason for book, one in self._damaged.items()} | self._failed
        return {book: Damage(reason) for book, reason in sorted(found.items())}

    def record_search(self, book: BookId, failure: str) -> None:
        """Record why a search of this book failed; "" if it succeeded."""
        if failure:
            self._failed[book] = failure
        else:
            self._failed.pop(book, None)

    async def kept(self, book: BookId) -> tuple[str, str]:
        """Collections of the book's current and previous generation; "" for none."""
        one = (await self.books()).get(book) or self._damaged.get(book)
        return (one.collection, one.previous) if one else ("", "")

    async def books(self) -> dict[BookId, ServedBook]:
        """The readable books, sorted by id; at most half a second old."""
        async with self._asking:
            if self._clock() - self._checked >= _RECHECK_SECONDS:
                self._books = await self._ask()
                self._checked = self._clock()
            return self._books

    async def get(self, book: BookId) -> ServedBook:
        if served := (await self.books()).get(BookId(book)):
            return served
        if damaged := self._damaged.get(book):
            raise IndexUnreadable(damaged.reason)
        message = f"no book {book!r} in the index"
        raise BookNotFound(message)

    async def manifest(self, collection: str) -> BookManifest:
        """Read the manifest of any collection of this program. IndexUnreadable, CollectionGone."""
        metadata = await self._metadata(collection)
        return manifest_from_json(metadata.get("manifest"), f"{self.address} {collection}")

    async def generations(self, book: BookId) -> dict[int, str]:
        """Every collection named like one of this book, by number."""
        name = re.compile(re.escape(self.alias(book)) + "_v([0-9]+)")
        with server_errors(self.address):
            answer = await self._client.get_collections()
        names = [collection.name for collection in answer.collections]
        return {int(match[1]): match[0] for match in map(name.fullmatch, names) if match}

    async def strays(self, book: BookId, kept: set[str]) -> list[Stray]:
        """Collections that this program created for the book, except `kept`."""
        found = []
        for collection in (await self.generations(book)).values():
            if collection in kept:
                continue
            metadata = await self._metadata(collection)
            if (metadata.get("prefix"), metadata.get("book")) == (self.prefix, book):
                found.append(Stray(collection, lease_from_json(metadata.get("lease"))))
        return found

    async def switch(self, book: BookId, collection: str, *, replace: bool) -> None:
        """Point the book's alias at another collection, in one request."""
        alias = self.alias(book)
        create = models.CreateAlias(collection_name=collection, alias_name=alias)
        operations: list[models.AliasOperations] = [
            models.CreateAliasOperation(create_alias=create)
        ]
        if replace:
            delete = models.DeleteAlias(alias_name=alias)
            operations.insert(0, models.DeleteAliasOperation(delete_alias=delete))
        with server_errors(self.address):
            await self._client.update_collection_aliases(operations)
        self.look_again()

    async def _ask(self) -> dict[BookId, ServedBook]:
        aliases = await self._aliases()
        now = self._clock()
        if now - self._remembered >= _REMEMBER_SECONDS:
            self._books, self._remembered = {}, now
        known = {served.collection: served for served in self._books.values()}
        books = await asyncio.gather(*(self._served(alias, known) for alias in aliases))
        found = dict(sorted(one for one in books if one))
        self._damaged = {book: one for book, one in found.items() if isinstance(one, _DamagedBook)}
        self._failed = {book: why for book, why in self._failed.items() if book in found}
        return {book: one for book, one in found.items() if isinstance(one, ServedBook)}

    async def _aliases(self) -> list[models.AliasDescription]:
        """Those of our prefix."""
        with server_errors(self.address):
            answer = await self._client.get_aliases()
        return [one for one in answer.aliases if one.alias_name.startswith(self.prefix + "_")]

    async def _served(
        self, alias: models.AliasDescription, known: dict[str, ServedBook]
    ) -> tuple[BookId, ServedBook | _DamagedBook] | None:
        name = alias.collection_name
        if served := known.get(name):
            return served.manifest.book, served
        try:
            metadata = await self._metadata(name)
        except CollectionGone:
            return None
        book = metadata.get("book")
        if not isinstance(book, str) or alias.alias_name != f"{self.prefix}_{book}":
            return None
        previous = str(metadata.get("previous") or "")
        where = f"{self.address} {name}"
        try:
            manifest = manifest_from_json(metadata.get("manifest"), where)
        except IndexUnreadable as error:
            return BookId(book), _DamagedBook(name, previous, str(error))
        return manifest.book, ServedBook(name, previous, manifest)

    async def _metadata(self, collection: str) -> dict[str, object]:
        with server_errors(self.address):
            info = await self._client.get_collection(collection)
        return dict(info.config.metadata or {})
