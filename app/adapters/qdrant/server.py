"""The index on a Qdrant server, cluster or cloud, through qdrant-client."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

from qdrant_client import AsyncQdrantClient, models

from app.adapters.qdrant.payload import best, check_dimension, find_passage
from app.adapters.qdrant.server_catalogue import Catalogue, ServedBook
from app.adapters.qdrant.server_errors import CollectionGone, public_address, server_errors
from app.adapters.qdrant.server_options import BATCH, PAGE, ServerOptions
from app.adapters.qdrant.server_points import (
    best_scores,
    chunk_of,
    condition_of,
    next_chapter,
    point_of,
    search_collection,
)
from app.adapters.qdrant.server_writer import ServerWriter, refuse_if_held, remove_strays
from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk, Passage
from app.domain.errors import BookNotFound, IndexUnreadable, InputError, StorageError
from app.domain.retrieval.query import Candidates, SearchFilter, SparseVector, Vector
from app.services.ports import BookManifest, Damage, IndexPoint

_Found = TypeVar("_Found")


def server_client(url: str, api_key: str | None, timeout_seconds: int = 30) -> AsyncQdrantClient:
    """Make a client that connects at its first use; close it with `await client.close()`."""
    return AsyncQdrantClient(
        url=url, api_key=api_key, timeout=timeout_seconds, check_compatibility=False
    )


class ServerIndex:
    """`VectorIndex` in collections whose names start with `prefix`."""

    def __init__(
        self,
        client: AsyncQdrantClient,
        prefix: str,
        url: str,
        options: ServerOptions | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """No request is sent yet. `url` is for messages; `clock` gives seconds."""
        self._client = client
        self._options = options or ServerOptions()
        self._address = public_address(url)
        self._catalogue = Catalogue(client, prefix, self._address, clock)

    async def books(self) -> list[BookManifest]:
        self._catalogue.look_again()
        return [served.manifest for served in (await self._catalogue.books()).values()]

    async def damaged(self) -> Mapping[BookId, Damage]:
        return self._catalogue.damaged()

    async def manifest(self, book: BookId) -> BookManifest | None:
        self._catalogue.look_again()
        try:
            return (await self._catalogue.get(book)).manifest
        except BookNotFound:
            return None

    async def faults(self, book: BookId, *, before: bool = False) -> list[str]:
        """Compare the manifest with the number of points: a server checks its files itself."""
        self._catalogue.look_again()
        current, previous = await self._catalogue.kept(book)
        if not current:
            message = f"no book {book!r} in the index"
            raise BookNotFound(message)
        collection = previous if before else current
        if not collection:
            return []
        try:
            manifest = await self._catalogue.manifest(collection)
        except (IndexUnreadable, CollectionGone) as error:
            return [str(error)]
        with server_errors(self._address):
            found = await self._client.count(collection, exact=True)
        if found.count == manifest.chunks:
            return []
        where = f"{self._address} {collection}"
        return [f"{where}: {found.count} chunks are there, not {manifest.chunks}"]

    async def repair(self, book: BookId) -> BookManifest:
        if not await self.faults(book):
            return (await self._catalogue.get(book)).manifest
        current, previous = await self._catalogue.kept(book)
        if not previous:
            message = f"book {book!r} has no other generation: run `textbook-rag ingest --force`"
            raise StorageError(message)
        with server_errors(self._address):
            await self._client.update_collection(previous, metadata={"previous": current})
        await self._catalogue.switch(book, previous, replace=True)
        if faults := await self.faults(book):
            raise StorageError(faults[0])
        return (await self._catalogue.get(book)).manifest

    async def begin(self, book: BookId, dimension: int) -> ServerWriter:
        """Start a generation. IndexBusy names the process that is writing the book."""
        return await ServerWriter.open(
            self._client, self._catalogue, book, dimension, self._options
        )

    async def chunks(self, book: BookId) -> Mapping[str, tuple[str, ...]]:
        served = await self._catalogue.get(book)
        records = await self._scroll(served.collection, ["paragraph_ids"], None)
        return {
            str(record.id): tuple((record.payload or {})["paragraph_ids"]) for record in records
        }

    async def search(
        self,
        dense: Vector | None,
        sparse: SparseVector | None,
        limit: int,
        filter: SearchFilter,
    ) -> Candidates:
        if sparse is not None and not sparse.indices:
            sparse = None
        try:
            return await self._search(dense, sparse, limit, filter)
        except CollectionGone:
            # Switched twice since the look-up: the collection was removed.
            self._catalogue.look_again()
            return await self._search(dense, sparse, limit, filter)

    async def best_scores(self, terms: Sequence[int], books: Sequence[BookId] = ()) -> list[float]:
        try:
            return await self._best_scores(terms, books)
        except CollectionGone:
            self._catalogue.look_again()
            return await self._best_scores(terms, books)

    async def fetch(self, book: BookId, chunk_ids: Sequence[str]) -> list[Chunk]:
        """Chunks of the current generation, else of the one that it replaced.

        So a question that searched before a switch still gets its chunks after it.
        """
        served = await self._catalogue.get(book)
        found = await self._retrieve(served.collection, chunk_ids)
        missing = [chunk_id for chunk_id in chunk_ids if chunk_id not in found]
        if missing and served.previous:
            found |= await self._retrieve(served.previous, missing)
        return [found[chunk_id] for chunk_id in chunk_ids if chunk_id in found]

    async def matching(self, filter: SearchFilter) -> list[Chunk]:
        condition = condition_of(filter)
        found = await self._each(
            sorted(filter.books), lambda book: self._scroll(book.collection, True, condition)
        )
        return [chunk_of(record) for records in found for record in records]

    async def next_chapter(self, book: BookId, chapter: str, position: int) -> int | None:
        served = await self._catalogue.get(book)
        with server_errors(self._address):
            return await next_chapter(self._client, served.collection, chapter, position)

    async def find_paragraph(self, paragraph_id: str, book: BookId | None = None) -> Passage | None:
        condition = condition_of(SearchFilter(paragraph_ids=(paragraph_id,)))

        async def find(served: ServedBook) -> Passage | None:
            records = await self._scroll(served.collection, True, condition)
            return find_passage(map(chunk_of, records), paragraph_id)

        return next(filter(None, await self._each((book,) if book else (), find)), None)

    async def remove(self, book: BookId) -> None:
        """IndexBusy while the book is being written."""
        await self._idle(book)
        delete = models.DeleteAlias(alias_name=self._catalogue.alias(book))
        with server_errors(self._address):
            await self._client.update_collection_aliases(
                [models.DeleteAliasOperation(delete_alias=delete)]
            )
        await remove_strays(self._client, self._catalogue, book)

    async def rollback(self, book: BookId) -> BookManifest:
        """Switch readers to the previous generation; a second rollback switches back.

        BookNotFound if there is no such book, InputError if it has only one generation, IndexBusy
        while it is being written.
        """
        served = await self._idle(book)
        if not served.previous:
            message = f"book {book!r} has no previous generation"
            raise InputError(message)
        with server_errors(self._address):
            await self._client.update_collection(
                served.previous, metadata={"previous": served.collection}
            )
        await self._catalogue.switch(book, served.previous, replace=True)
        return (await self._catalogue.get(book)).manifest

    async def points(self, book: BookId) -> AsyncIterator[list[IndexPoint]]:
        """Pages of points, all of the generation that is current at the first page."""
        served = await self._catalogue.get(book)
        offset = None
        while True:
            with server_errors(self._address):
                records, offset = await self._client.scroll(
                    served.collection,
                    limit=BATCH,
                    offset=offset,
                    with_payload=True,
                    with_vectors=True,
                )
            yield [point_of(record) for record in records]
            if offset is None:
                return

    async def check(self) -> None:
        self._catalogue.look_again()
        books = await self._catalogue.books()
        damaged = self._catalogue.damaged()
        if damaged and not books:
            raise IndexUnreadable(next(iter(damaged.values())).reason)

    async def _idle(self, book: BookId) -> ServedBook:
        """The book as it is now; IndexBusy while it is being written."""
        self._catalogue.look_again()
        served = await self._catalogue.get(book)
        for stray in await self._catalogue.strays(book, {served.collection, served.previous}):
            refuse_if_held(book, stray.lease)
        return served

    async def _each(
        self, books: Sequence[BookId], ask: Callable[[ServedBook], Awaitable[_Found]]
    ) -> list[_Found]:
        """Results of each of these books, or of all if none is named.

        BookNotFound if a named book is missing. Unreadable books are left out; StorageError if none
        can be read.
        """
        served, failed = await self._served(books)
        outcomes = await asyncio.gather(*map(ask, served), return_exceptions=True)
        found = []
        for book, outcome in zip(served, outcomes, strict=True):
            if isinstance(outcome, StorageError) and not isinstance(outcome, CollectionGone):
                failed = outcome
                self._catalogue.record_search(book.manifest.book, str(outcome))
            elif isinstance(outcome, BaseException):
                raise outcome
            else:
                self._catalogue.record_search(book.manifest.book, "")
                found.append(outcome)
        if failed and not found:
            raise failed
        return found

    async def _served(
        self, books: Sequence[BookId]
    ) -> tuple[list[ServedBook], StorageError | None]:
        """The readable ones of these books, and the error of one that is not."""
        served, failed = [], None
        every = await self._catalogue.books()
        for book in dict.fromkeys(books or (*every, *self._catalogue.damaged())):
            try:
                served.append(await self._catalogue.get(book))
            except IndexUnreadable as error:
                failed = error
        return served, failed

    async def _search(
        self,
        dense: Vector | None,
        sparse: SparseVector | None,
        limit: int,
        filter: SearchFilter,
    ) -> Candidates:
        async def ask(book: ServedBook) -> Candidates:
            if dense is not None:
                manifest = book.manifest
                check_dimension(manifest.book, manifest.model, manifest.dimension, len(dense))
            return await self._search_book(book, dense, sparse, limit, filter)

        found = await self._each(filter.books, ask)
        return Candidates(
            best((hit for candidates in found for hit in candidates.dense), limit),
            best((hit for candidates in found for hit in candidates.sparse), limit),
        )

    async def _best_scores(self, terms: Sequence[int], books: Sequence[BookId]) -> list[float]:
        async def ask(served: ServedBook) -> list[float]:
            with server_errors(self._address):
                return await best_scores(self._client, served.collection, terms)

        best = [0.0] * len(terms)
        for found in await self._each(books, ask):
            best = list(map(max, best, found))
        return best

    async def _search_book(
        self,
        served: ServedBook,
        dense: Vector | None,
        sparse: SparseVector | None,
        limit: int,
        filter: SearchFilter,
    ) -> Candidates:
        with server_errors(self._address):
            return await search_collection(
                self._client,
                served.collection,
                served.manifest.book,
                dense,
                sparse,
                limit,
                filter,
                self._options,
            )

    async def _retrieve(self, collection: str, chunk_ids: Sequence[str]) -> dict[str, Chunk]:
        try:
            with server_errors(self._address):
                records = await self._client.retrieve(
                    collection, list(chunk_ids), with_payload=True, with_vectors=False
                )
        except CollectionGone:
            self._catalogue.look_again()
            return {}
        return {str(record.id): chunk_of(record) for record in records}

    async def _scroll(
        self, collection: str, payload: bool | list[str], condition: models.Filter | None
    ) -> list[models.Record]:
        found: list[models.Record] = []
        offset = None
        while True:
            with server_errors(self._address):
                records, offset = await self._client.scroll(
                    collection,
                    scroll_filter=condition,
                    limit=PAGE,
                    offset=offset,
                    with_payload=payload,
                    with_vectors=False,
                )
            found += records
            if offset is None:
                return found
