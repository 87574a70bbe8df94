"""Runs `ingest --json` in a separate process, so that it does not delay the server's answers."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.adapters.archives import unpack
from app.bootstrap.storage import ledger_store
from app.domain import errors
from app.domain.book_id import BookId
from app.domain.document import Site
from app.domain.errors import RagError, StorageError
from app.domain.ledger import Ledger, from_lines
from app.services.ingest_jobs import Report, ReportProgress
from app.settings import Settings

_log = logging.getLogger(__name__)

_MAX_LINE = 2**24
_ROOT = Path(__file__).parents[2]
"""From here the child imports the package, as this process does."""

LEDGER_FILE = "textbook-rag-ledger.jsonl"
"""A ledger at the top of an archive; imported if the book has no ledger yet."""


@dataclass(frozen=True, slots=True)
class Order:
    """A book to ingest from `source`: its folder, or an archive to unpack beside it."""

    book: BookId
    source: Path
    site: Site | None
    base_url: str
    force: bool

    @property
    def is_folder(self) -> bool:
        return self.source.is_dir()

    def command(self, folder: Path) -> Iterator[str]:
        """Yield the arguments of the command line."""
        yield from ("ingest", str(folder.absolute()), "--book", self.book, "--json")
        yield f"--base-url={self.base_url}"
        if self.site:
            yield f"--site={self.site}"
        if self.force:
            yield "--force"


async def ingest_in_process(settings: Settings, order: Order, progress: ReportProgress) -> Report:
    """Run the ingest. Cancellation kills the process and leaves the index unchanged.

    Raises the child's RagError, or StorageError if it ended without a result.
    """
    folder = order.source
    if not order.is_folder:
        progress("unpack", 0, 0, "")
        folder = await asyncio.to_thread(_unpacked, settings, order)
        await _import_ledger(settings, order.book, folder)
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "app.bootstrap.low_priority", str(settings.ingest_nice)),
        *("app.cli", *order.command(folder)),
        stdout=PIPE,
        stderr=STDOUT,
        limit=_MAX_LINE,
        cwd=_ROOT,
        env={**os.environ, **settings.as_environment()},
    )
    try:
        return await _report(child, progress)
    finally:
        if child.returncode is None:
            child.kill()
        await child.wait()


def _unpacked(settings: Settings, order: Order) -> Path:
    # A book without a title is named after its folder.
    folder = order.source.parent / order.book
    folder.mkdir()
    return unpack(order.source, folder, settings.unpacked_mb * 2**20)


async def _import_ledger(settings: Settings, book: BookId, folder: Path) -> None:
    ledgers = ledger_store(settings)
    if not (await ledgers.load(book)).entries:
        exported = await asyncio.to_thread(_exported, folder / LEDGER_FILE)
        if exported:
            await ledgers.save(book, exported)


def _exported(path: Path) -> Ledger | None:
    if not path.is_file():
        return None
    return from_lines(path.read_text("utf-8", "replace").splitlines(), LEDGER_FILE)


async def _report(child: asyncio.subprocess.Process, progress: ReportProgress) -> Report:
    """Report the progress until the child ends; other lines are logged."""
    report: Report | None = None
    output = child.stdout or asyncio.StreamReader()
    async for line in output:
        sent = _object(line)
        if "phase" in sent:
            progress(sent["phase"], sent["done"], sent["total"], sent["unit"])
        elif "error" in sent:
            raise _error(sent["error"], sent["message"])
        elif sent:
            report = report or sent  # of the default edition, which is the first
        else:
            _log.info("ingest.said", extra={"line": line.decode("utf-8", "replace").rstrip()})
    status = await child.wait()
    if report is None or status:
        message = (
            f"the ingest process ended with status {status} and no result; the index is unchanged: "
            "ingest again (-9 may mean a lack of memory; see the server's log)"
        )
        raise StorageError(message)
    return report


def _object(line: bytes) -> dict[str, Any]:
    """Return the JSON object of a line; an empty one for a message."""
    try:
        found = json.loads(line) if line.startswith(b"{") else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _error(code: str, message: str) -> RagError:
    kinds = [one for one in vars(errors).values() if isinstance(one, type)]
    made: RagError = next(
        (one for one in kinds if issubclass(one, RagError) and one.code == code), RagError
    )(message)
    return made
