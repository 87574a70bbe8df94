"""A process that imports the program once and forks a child for every ingest.

Reads a JSON object a line from stdin: the request's folder and the settings. The child says its
process id and the phases that it enters, a line each; it is not reaped before the next line comes,
so that its id stays its own and can be killed at any moment.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import traceback
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import cohere.client_v2  # noqa: F401 - else every child would import it

from app.adapters.providers import cohere_embedder as embedder
from app.bootstrap.application import application
from app.bootstrap.books import read_source
from app.bootstrap.chunking import chunk_book
from app.domain.book_id import BookId
from app.services.ingest import IngestRequest
from app.services.phases import Phase, Phases
from app.settings import Settings
from tests.ingesting import BOOK, URL, make_book

# Small batches, so that a kill may come between them.
small = {tier: replace(tariff, texts_per_call=8) for tier, tariff in embedder.TARIFFS.items()}
embedder.TARIFFS = small


def tell(phase: Phase) -> None:
    """Say which phase begins."""
    if not phase.seconds:
        say(phase.name)


def say(word: object) -> None:
    os.write(1, f"{word}\n".encode())


async def ingest(folder: str, settings: dict[str, object]) -> None:
    request = IngestRequest(Path(folder), book=BookId(BOOK), base_url=URL)
    async with application(Settings.model_validate(settings)) as app:
        await app.ingest.run(request, Phases(tell))


def child(command: dict[str, object]) -> int:
    say(os.getpid())
    try:
        asyncio.run(ingest(**command))  # type: ignore[arg-type]
    except Exception:  # noqa: BLE001 - the exit code tells
        traceback.print_exc()
        return 1
    finally:
        say("done")
    return 0


def warm_up() -> None:
    """Load and build once what every child would."""
    with TemporaryDirectory() as folder:
        request = IngestRequest(make_book(Path(folder), pages=1))
        assert list(chunk_book(read_source(request), request))


def main() -> None:
    warm_up()
    for line in sys.stdin:
        # A fork copies one thread only: another one's locks would stay shut in the child.
        assert len(os.listdir("/proc/self/task")) == 1  # noqa: PTH208
        process = os.fork()
        if process == 0:
            os._exit(child(json.loads(line)))
        sys.stdin.readline()
        _, status = os.waitpid(process, 0)
        say(f"ended {os.waitstatus_to_exitcode(status)}")


if __name__ == "__main__":
    main()
