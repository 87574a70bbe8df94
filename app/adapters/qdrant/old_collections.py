"""Reads the server layout of versions before decision 0018: one collection per book and generation.

The alias `<prefix>_<book>` points at the current collection, whose metadata has the manifest.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

from qdrant_client import AsyncQdrantClient, models

from app.adapters.qdrant.manifest import manifest_from_json
from app.adapters.qdrant.payload import ORDER_FIELDS, in_reading_order, index_point
from app.adapters.qdrant.server_client import public_address
from app.adapters.qdrant.server_points import scroll
from app.adapters.qdrant.server_schema import BATCH
from app.domain.book_id import BookId, is_book_id
from app.domain.errors import BookNotFound, IndexUnreadable
from app.services.ports import BookList, BookManifest, Damage, IndexPoint, Snapshot


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
            try:
                if manifest := await self._manifest(book, collection):
                    found.append(manifest)
            except IndexUnreadable as error:
                self._damaged[book] = Damage(str(error))
        return BookList(found)

    async def damaged(self) -> Mapping[BookId, Damage]:
        return self._damaged

    async def snapshot(self, book: BookId) -> Snapshot:
        """Return the book to read. Raises BookNotFound, StorageError."""
        collection = (await self._collections()).get(book, "")
        manifest = await self._manifest(book, collection) if collection else None
        if manifest is None:
            message = f"no book {book!r} in a collection of its own"
            raise BookNotFound(message)
        return Snapshot(manifest, self._pages(collection))

    async def _manifest(self, book: BookId, collection: str) -> BookManifest | None:
        """Return the manifest; None if the collection is another program's. IndexUnreadable."""
        metadata = (await self._client.get_collection(collection)).config.metadata or {}
        if (metadata.get("prefix"), metadata.get("book")) != (self._prefix, book):
            return None
        return manifest_from_json(metadata.get("manifest"), f"{self._address} {collection}")

    async def _pages(self, collection: str) -> AsyncIterator[list[IndexPoint]]:
        records = scroll(self._client, collection, models.Filter(), list(ORDER_FIELDS))
        ids = in_reading_order([(str(one.id), one.payload) async for one in records])
        for start in range(0, len(ids), BATCH):
            asked = ids[start : start + BATCH]
            found = await self._client.retrieve(
                collection, asked, with_payload=True, with_vectors=True
            )
            points = {str(one.id): index_point(one.payload, one.vector) for one in found}
            yield [points[chunk_id] for chunk_id in asked if chunk_id in points]

    async def _collections(self) -> dict[BookId, str]:
        """Return the name of each book's current collection."""
        answer = await self._client.get_aliases()
        start = f"{self._prefix}_"
        return {
            BookId(name): one.collection_name
            for one in answer.aliases
            if one.alias_name.startswith(start)
            and is_book_id(name := one.alias_name.removeprefix(start))
        }
