"""What an operator should know of the stored index before it is served."""

from __future__ import annotations

import asyncio
import tempfile

from app.adapters.qdrant.edge_copy import disk_fault
from app.domain.errors import StorageError
from app.services.ports import BookStore
from app.settings import Settings


async def storage_warnings(settings: Settings, index: BookStore) -> list[str]:
    """Open every book; a line for each that is damaged, and for a disk that cannot be written."""
    lines = await asyncio.to_thread(_disk, settings)
    try:
        await index.check()
    except StorageError as error:
        lines.append(f"no book can be answered from: {error}")
    for book, damage in (await index.damaged()).items():
        served = "the generation before answers" if damage.answers else "the book is left out"
        lines.append(f"book {book}: {served}; see `textbook-rag verify`: {damage.reason}")
    return lines


def _disk(settings: Settings) -> list[str]:
    home = settings.home
    fault = "" if settings.qdrant_url or not home.is_dir() else disk_fault(home)
    if not fault:
        return []
    line = (
        f"{home}: the disk is {fault}: nothing can be ingested, and the index is searched in a "
        f"temporary copy below {tempfile.gettempdir()}"
    )
    return [line]
