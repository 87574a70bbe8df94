"""Runs an ingest in a separate process, so that it does not delay the answers of the server.

The parent sends the pickled settings and request on stdin. The child writes JSON lines to stdout:
progress, then the report or the error.
"""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import shutil
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from app.adapters.archives import unpack
from app.bootstrap.books import strategy_of
from app.domain import errors
from app.domain.book_id import BookId
from app.domain.document import Site
from app.domain.errors import InputError, RagError, StorageError
from app.domain.ledger import from_lines
from app.services.ingest import IngestReport, IngestRequest
from app.services.ingest_jobs import Report
from app.services.phases import Phases
from app.settings import Settings

_EVERY_SECONDS = 0.2
_MAX_LINE = 2**24


LEDGER_FILE = "textbook-rag-ledger.jsonl"
"""A ledger at the top of an archive; imported if the book has no ledger yet."""


@dataclass(frozen=True, slots=True)
class Order:
    """A book to ingest, from `folder` or from `archive`, which is unpacked below `scratch`."""

    book: BookId
    folder: Path | None
    archive: Path | None
    scratch: Path
    site: Site | None
    base_url: str
    force: bool


async def ingest_in_process(settings: Settings, order: Order, report: Report) -> IngestReport:
    """Run the ingest. Cancellation kills the process and leaves the index unchanged.

    Raises the child's RagError, or StorageError if it ended without a result.
    """
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "app.bootstrap.low_priority",
        str(settings.ingest_nice),
        "app.bootstrap.ingest_process",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=_MAX_LINE,
        # The child imports the package from the same place as this process.
        cwd=Path(__file__).parents[2],
    )
    try:
        if child.stdin is None or child.stdout is None:
            message = "the ingest process has no pipes"
            raise StorageError(message)
        child.stdin.write(pickle.dumps((settings, order)))
        child.stdin.close()
        if (result := await _result(child.stdout, report)) is not None:
            return result
        status = await child.wait()
        message = (
            f"the ingest process ended with status {status} and no result; the index is unchanged: "
            "ingest again (-9 may mean a lack of memory; see the server's log)"
        )
        raise StorageError(message)
    finally:
        if child.returncode is None:
            child.kill()
        await child.wait()


async def _result(output: asyncio.StreamReader, report: Report) -> IngestReport | None:
    """Report the progress until the result comes; None if there is no result.

    Raises the child's RagError.
    """
    async for line in output:
        sent = json.loads(line)
        if "phase" in sent:
            report(sent["phase"], sent["done"], sent["total"], sent["unit"])
        elif "error" in sent:
            raise _error(sent)
        else:
            return IngestReport(**sent["report"])
    return None


def _error(sent: dict[str, str]) -> RagError:
    found = getattr(errors, sent["error"], RagError)
    made: RagError = found(sent["message"])
    return made


@dataclass
class _PrintedProgress:
    """Implements `ProgressReporter`: writes JSON lines to stdout."""

    done: int = 0
    total: int = 0
    unit: str = ""
    last: float = 0.0

    def start(self, phase: str, total: int, unit: str) -> None:
        self.done, self.total, self.unit = 0, total, unit
        self._print(phase)

    def advance(self, phase: str, amount: int) -> None:
        self.done += amount
        if monotonic() - self.last >= _EVERY_SECONDS:
            self._print(phase)

    def finish(self, phase: str) -> None:
        self._print(phase)

    def _print(self, phase: str) -> None:
        self.last = monotonic()
        _line({"phase": phase, "done": self.done, "total": self.total, "unit": self.unit})


def _line(value: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


async def _ingest(settings: Settings, order: Order) -> None:
    from app.bootstrap.application import application  # noqa: PLC0415 - see main
    from app.bootstrap.storage import ledger_store  # noqa: PLC0415

    folder = order.folder or _unpacked(settings, order)
    exported = folder / LEDGER_FILE
    ledgers = ledger_store(settings)
    if order.archive and exported.is_file() and not (await ledgers.load(order.book)).entries:
        lines = exported.read_text("utf-8", "replace").splitlines()
        await ledgers.save(order.book, from_lines(lines, LEDGER_FILE))
    request = IngestRequest(
        folder=folder,
        book=order.book,
        site=order.site,
        base_url=order.base_url,
        strategy=strategy_of(folder, settings),
        overlap_scope=settings.overlap_scope,
        force=order.force,
    )
    async with application(settings, request.strategy) as app:
        report = await app.ingest.run(request, Phases(_PrintedProgress()))
    _line({"report": asdict(report)})


def _unpacked(settings: Settings, order: Order) -> Path:
    _line({"phase": "unpack", "done": 0, "total": 0, "unit": ""})
    if order.archive is None:
        message = f"neither a folder nor an archive of book {order.book!r} was given"
        raise InputError(message)
    # A book without a title is named after its folder.
    folder = order.scratch / order.book
    folder.mkdir()
    return unpack(order.archive, folder, settings.unpacked_mb * 2**20)


def main() -> None:
    """Entry point of the child process; imports only what an ingest needs."""
    from app.bootstrap.logs import logging_to  # noqa: PLC0415

    settings, order = pickle.load(sys.stdin.buffer)  # noqa: S301 - from the parent process
    try:
        with logging_to(sys.stderr, settings, server=True):
            asyncio.run(_ingest(settings, order))
    except BrokenPipeError:
        # The server was killed, so this process must delete the upload.
        shutil.rmtree(order.scratch, ignore_errors=True)
        os._exit(1)  # not sys.exit, which would flush the broken pipe
    except RagError as error:
        _line({"error": type(error).__name__, "message": str(error)})
    except MemoryError:
        _line({"error": StorageError.__name__, "message": errors.NO_MEMORY})


if __name__ == "__main__":
    main()
