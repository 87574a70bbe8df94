"""Runs `ingest --json` in a separate process, so that it does not delay the server's answers."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.domain import errors
from app.domain.book_id import BookId
from app.domain.document import Site
from app.domain.errors import RagError, StorageError
from app.services.ingest_jobs import Report, ReportProgress
from app.settings import Settings

_log = logging.getLogger(__name__)

_MAX_LINE = 2**24
_ROOT = Path(__file__).parents[2]
"""From here the child imports the package, as this process does."""


@dataclass(frozen=True, slots=True)
class Order:
    """A book to ingest from `source`: its folder, or an archive to unpack beside it."""

    book: BookId
    source: Path
    site: Site | None
    base_url: str
    force: bool

    def command(self, folder: Path) -> Iterator[str]:
        """Yield the arguments of the command line."""
        yield from ("ingest", str(folder), "--book", self.book, "--json")
        yield f"--base-url={self.base_url}"
        if self.site:
            yield f"--site={self.site}"
        if self.force:
            yield "--force"


async def ingest_in_process(settings: Settings, order: Order, progress: ReportProgress) -> Report:
    """Run the ingest. Cancellation kills the process and leaves the index unchanged.

    Raises the child's RagError, or StorageError if it ended without a result.
    """
    folder = order.source.absolute()  # the child works in another folder
    if not folder.is_dir():
        progress("unpack", 0, 0, "")
        # A book without a title is named after its folder.
        made = folder.parent / order.book
        unpack = ("app.bootstrap.uploads", str(folder), str(made), order.book)
        folder = Path(str((await _run(settings, unpack, progress))["folder"]))
    return await _run(settings, ("app.cli", *order.command(folder)), progress)


async def _run(settings: Settings, module: Sequence[str], progress: ReportProgress) -> Report:
    """Run a module with its arguments at a low priority; return the object that it prints."""
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", *module),
        stdout=PIPE,
        stderr=STDOUT,
        limit=_MAX_LINE,
        cwd=_ROOT,
        env={**os.environ, **settings.as_environment()},
    )
    give_way(child.pid)
    try:
        return await _report(child, progress)
    finally:
        if child.returncode is None:
            child.kill()
        await child.wait()


def give_way(pid: int) -> None:
    """Lower the priority of a process that has just started to the lowest.

    On Linux it runs only on idle cores (SCHED_IDLE) and uses half of the cores; the other half keep
    their caches for the readers. Then the p95 of searches rises by at most 10 %; with all cores it
    rises by 29 to 47 %, and at `nice` 10 it doubles (two cores, `scripts/bench/load.py`).
    """
    with suppress(ProcessLookupError):
        os.setpriority(os.PRIO_PROCESS, pid, 19)
        if sys.platform == "linux":
            os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))
            cores = sorted(os.sched_getaffinity(pid))
            os.sched_setaffinity(pid, cores[len(cores) // 2 :])


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
            report = sent
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
