"""Fingerprint and report of the last ingest of each book: one file a book."""

from __future__ import annotations

import asyncio
import logging
import os
from pathlib import Path

from app.domain.book_id import BookId

_log = logging.getLogger(__name__)


class FileLastRunStore:
    """`LastRunStore` in `<folder>/<book>.json`. A lost or damaged file costs one full run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def recall(self, book: BookId) -> str:
        return await asyncio.to_thread(self._recall, book)

    async def remember(self, book: BookId, text: str) -> None:
        await asyncio.to_thread(self._remember, book, text)

    def _recall(self, book: BookId) -> str:
        try:
            return (self._folder / f"{book}.json").read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            return ""

    def _remember(self, book: BookId, text: str) -> None:
        new = self._folder / f"{book}.{os.getpid()}.new"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            new.write_text(text, "utf-8")
            new.replace(self._folder / f"{book}.json")
        except OSError as error:
            _log.warning("ingest.not_remembered", extra={"book": book, "reason": str(error)})
