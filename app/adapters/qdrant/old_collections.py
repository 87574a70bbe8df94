"""Reads the server layout of versions before decision 0018: one collection per book and generation.

The alias `<prefix>_<book>` points at the current collection, whose metadata has the manifest.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

from qdrant_client import AsyncQdrantClient

from app.adapters.qdrant.manifest import manifest_from_json
from app.adapters.qdrant.server_errors import public_address, server_errors
from app.adapters.qdrant.server_options import BATCH
from app.adapters.qdrant.server_points import index_point_of
from app.domain.book_id import BookId, is_book_id
from app.domain.errors import BookNotFound, IndexUnreadable
from app.services.ports import BookList, Damage, IndexPoint


class OldCollections:
    """Implements the `BookSource` port for books in one collection each. It only reads."""

    def __init__(self, client: AsyncQdrantClient, prefix: str, url: str) -> None:
        """No request is sent yet. `url` is used only in messages."""
        self._client = client
        self._prefix = prefix
        self._address = public_address(url)
        self._damaged: dict[BookId, Damage] = {}

    async def books(self) -> BookList:
        """Return the readable books. StorageError if the server fails."""
        found = []
        self._damaged = {}
        for book, collection in sorted((await self._collections()).items()):
            with server_errors(self._address):
                info = await self._client.get_collection(collection)
            metadata = info.config.metadata or {}
            if (metadata.get("prefix"), metadata.get("book")) != (self._prefix, book):
                continue  # a collection of another program
            try:
                where = f"{self._address} {collection}"
                found.append(manifest_from_json(metadata.get("manifest"), where))
            except IndexUnreadable as error:
                self._damaged[book] = Damage(str(error))
        return BookList(found)

    async def damaged(self) -> Mapping[BookId, Damage]:
        return self._damaged

    async def points(self, book: BookId) -> AsyncIterator[list[IndexPoint]]:
        """Yield pages of points, ascending by chunk id. BookNotFound, StorageError."""
        collection = (await self._collections()).get(book)
        if collection is None:
            message = f"no book {book!r} in a collection of its own"
            raise BookNotFound(message)
        offset = None
        while True:
            with server_errors(self._address):
                records, offset = await self._client.scroll(
                    collection, limit=BATCH, offset=offset, with_payload=True, with_vectors=True
                )
            yield [index_point_of(record) for record in records]
            if offset is None:
                return

    async def _collections(self) -> dict[BookId, str]:
        """Return the name of each book's current collection."""
        with server_errors(self._address):
            answer = await self._client.get_aliases()
        start = f"{self._prefix}_"
        return {
            BookId(name): one.collection_name
            for one in answer.aliases
            if one.alias_name.startswith(start)
            and is_book_id(name := one.alias_name.removeprefix(start))
        }
