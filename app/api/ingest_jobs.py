"""Ingests that the owner asks of a server: one at a time, each in a process of its own."""

import asyncio
import json
import logging
import os
import shutil
import sys
import tempfile
import time
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import JsonValue

from app.api.problems import ErrorEvent
from app.api.responses import Body
from app.domain.book_id import BookId
from app.domain.errors import IndexBusy, InputError, RagError, StorageError
from app.settings import Settings

_log = logging.getLogger(__name__)

_MAX_LINE = 2**24
_LEFTOVER_SECONDS = 24 * 3_600
"""No ingest takes this long, so an older upload is a leftover."""
_ROOT = Path(__file__).parents[2]
"""From here the child imports the package, as this process does."""


class IngestJob(Body):
    """An ingest: how far it is, then its report or its error."""

    book: str
    state: Literal["running", "done", "failed"] = "running"
    """failed: the index is unchanged."""
    started_at: datetime
    ended_at: datetime | None = None
    progress: dict[str, JsonValue] | None = None
    """`phase` (read, chunk, compare, embed, index, publish), `done`, `total` (0 if unknown) and
    `unit`; as `textbook-rag ingest --json` prints them."""
    report: dict[str, JsonValue] | None = None
    """As `textbook-rag ingest --json` prints it at the end."""
    error: ErrorEvent | None = None


class IngestJobs:
    """Runs one ingest at a time, and keeps the last one of each book."""

    def __init__(self, settings: Settings) -> None:
        self._uploads = settings.home.absolute() / "uploads"
        _remove_leftovers(self._uploads)
        self._environment = {**os.environ, **settings.as_environment()}
        self.last: dict[BookId, IngestJob] = {}
        """The last job of each book, of this server."""
        self._task: asyncio.Task[None] | None = None

    async def start(
        self, book: BookId, archive: AsyncIterator[bytes], options: Sequence[str]
    ) -> IngestJob:
        """Store the archive and start to ingest it. IndexBusy while another job runs."""
        self._require_free()
        self._uploads.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(dir=self._uploads))
        try:
            await _store(archive, folder / "upload.zip")
            self._require_free()
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        job = self.last[book] = IngestJob(book=book, started_at=datetime.now(UTC))
        command = ("ingest", str(folder / "upload.zip"), "--book", book, "--json", *options)
        # The archive is unpacked in its own folder, which is deleted even if the child is killed.
        environment = {**self._environment, "TMPDIR": str(folder)}
        self._task = asyncio.create_task(_run(job, command, environment))
        return job

    def _require_free(self) -> None:
        if self._task is not None and not self._task.done():
            raise IndexBusy("an ingest is running: a server runs one at a time")

    async def close(self) -> None:
        """Cancel the running job; the index stays as it was."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})


async def _store(archive: AsyncIterator[bytes], path: Path) -> None:
    """Write the archive while it arrives. InputError if it is empty; ClientDisconnect."""
    with path.open("wb") as file:
        async for part in archive:
            await asyncio.to_thread(file.write, part)
        if not file.tell():
            raise InputError("no archive was sent")


async def _run(job: IngestJob, command: Sequence[str], environment: dict[str, str]) -> None:
    """Run `ingest --json` in a process of low priority, which cancellation kills.

    Its output becomes the job's progress and result.
    """
    error: ErrorEvent | None = ErrorEvent(code=RagError.code, message="the ingest was broken off")
    try:
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "app.cli", *command),
            stdout=PIPE,
            stderr=STDOUT,
            limit=_MAX_LINE,
            cwd=_ROOT,
            env=environment,
        )
        try:
            give_way(child.pid)
            error = await _followed(child, job)
        finally:
            if child.returncode is None:
                child.kill()
            await child.wait()
    finally:
        shutil.rmtree(environment["TMPDIR"], ignore_errors=True)
        job.error, job.ended_at = error, datetime.now(UTC)
        job.state = "failed" if error else "done"


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


async def _followed(child: Process, job: IngestJob) -> ErrorEvent | None:
    """Read the child's lines until it ends; return its error. Lines without JSON are logged."""
    error = None
    async for line in child.stdout or asyncio.StreamReader():
        try:
            sent: dict[str, Any] = dict(json.loads(line))
        except (ValueError, TypeError):
            _log.info("ingest.said", extra={"line": line.decode("utf-8", "replace").rstrip()})
            continue
        if "phase" in sent:
            job.progress = sent
        elif "error" in sent:
            # With its detailed message: only the owner sees it.
            error = ErrorEvent(code=sent["error"], message=sent["message"])
        else:
            job.report = sent
    status = await child.wait()
    if error is None and (status or job.report is None):
        message = (
            f"the ingest process ended with status {status} and no result; the index is unchanged: "
            "ingest again (-9 may mean a lack of memory; see the server's log)"
        )
        return ErrorEvent(code=StorageError.code, message=message)
    return error


def _remove_leftovers(uploads: Path) -> None:
    """Remove what killed servers left; another server or worker may be writing the younger ones."""
    for folder in uploads.glob("*"):
        if time.time() - folder.stat().st_mtime > _LEFTOVER_SECONDS:
            shutil.rmtree(folder, ignore_errors=True)
