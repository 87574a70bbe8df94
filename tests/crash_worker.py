"""Ingests in processes that are forked from one with the program imported, and can be killed."""

import asyncio
import multiprocessing
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

import cohere.client_v2  # noqa: F401 - else every child would import it

from app.adapters.providers import cohere_embedder
from app.bootstrap.application import application
from app.bootstrap.books import read_source
from app.bootstrap.ingesting import chunk_book
from app.domain.book_id import BookId
from app.services.ingest_plan import IngestRequest
from app.services.phases import Phases
from app.settings import Settings
from tests.ingesting import BOOK, URL, make_book

_PROCESSES = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload([__name__])


def _warm_up() -> None:
    """Load and build once what every child would."""
    with TemporaryDirectory() as folder:
        request = IngestRequest(make_book(Path(folder), pages=1))
        assert list(chunk_book(read_source(request), request))


def _ingest(folder: Path, settings: dict[str, Any], said: Connection) -> None:
    """Ingest the book; say which phase begins, and "done" at the end."""
    # Small batches, so that a kill may come between them.
    tariffs = cohere_embedder.TARIFFS.items()
    cohere_embedder.TARIFFS = {tier: replace(one, texts_per_call=8) for tier, one in tariffs}
    request = IngestRequest(folder, book=BookId(BOOK), base_url=URL)
    phases = Phases(lambda phase: None if phase.seconds else said.send(phase.name))

    async def run() -> None:
        async with application(Settings.model_validate(settings)) as app:
            await app.ingest.run(request, phases)

    asyncio.run(run())
    said.send("done")


class Worker:
    """Ingests a folder, one process at a time."""

    def __init__(self, folder: Path, settings: dict[str, Any]) -> None:
        self._given = folder, settings

    def start(self) -> None:
        self._said, saying = _PROCESSES.Pipe(duplex=False)
        self.process = _PROCESSES.Process(target=_ingest, args=(*self._given, saying))
        self.process.start()
        saying.close()

    def said(self) -> Iterator[str]:
        """Yield what it says, until it ends or is killed."""
        with suppress(EOFError, ConnectionResetError):
            while True:
                yield self._said.recv()

    def run(self) -> dict[str, float]:
        """Ingest to the end; return the seconds of each phase."""
        self.start()
        began = [(phase, monotonic()) for phase in self.said()]
        self.process.join()
        assert (self.process.exitcode, began[-1][0]) == (0, "done")
        return {phase: end - start for (phase, start), (_, end) in pairwise(began)}


if sys.argv[0] == "-c":  # in the process that is forked
    _warm_up()
