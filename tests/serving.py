"""A real server on a free port, in a thread, for tests of what goes over the wire."""

import asyncio
import socket
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import httpx
import uvicorn

from app.api.server import configured
from app.bootstrap.application import Application, application
from app.domain.answer import Usage
from app.domain.generated_text.model_text import (
    GeneratedCitation,
    GeneratedEnd,
    GeneratedText,
    GeneratorEvent,
    TextDiscarded,
)
from app.main import OpenApplication, create_app
from app.services.ingest_plan import IngestRequest
from app.services.phases import Phases
from app.services.ports import GenerationRequest
from app.settings import Settings

T = TypeVar("T")


def offline_settings(home: Path, **changes: object) -> Settings:
    """Return the settings of a machine without keys, whatever this machine's environment says."""
    fixed: dict[str, object] = {
        "home": home,
        "cohere_api_key": None,
        "qdrant_url": None,
        "embedder": "local",
        "generator": "extractive",
    }
    return Settings.model_validate({**Settings(_env_file=None).model_dump(), **fixed, **changes})


def in_thread(work: Coroutine[Any, Any, T]) -> T:
    """Return its result; playwright's synchronous interface keeps a loop running in this thread."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


def ingest(settings: Settings, request: IngestRequest) -> None:
    async def run() -> None:
        async with application(settings) as rag:
            await rag.ingest.run(request, Phases())

    in_thread(run())


def ingested(home: Path, *folders: Path, base_url: str = "", **changes: object) -> Settings:
    """Ingest books, each with the name of its folder; return the settings of the state folder."""
    settings = offline_settings(home, **changes)
    for folder in folders:
        ingest(settings, IngestRequest(folder, base_url=base_url))
    return settings


@contextmanager
def serving(settings: Settings, open_application: OpenApplication = application) -> Iterator[str]:
    """Serve until the context ends; yield the address, such as `http://127.0.0.1:54321`."""
    app = create_app(settings, open_application=open_application)
    # asyncio turns Nagle's delay off only where the protocol is named.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    served = uvicorn.Server(configured(app, settings))
    thread = threading.Thread(target=served.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        while not served.started and thread.is_alive():
            thread.join(0.005)
        assert served.started, "the application did not start: see the log"
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        served.should_exit = True
        thread.join()
        listener.close()


@contextmanager
def connected(
    settings: Settings, open_application: OpenApplication = application
) -> Iterator[httpx.Client]:
    """Serve until the context ends; yield a client of the server."""
    with (
        serving(settings, open_application) as address,
        httpx.Client(base_url=address, timeout=60) as client,
    ):
        yield client


Step: TypeAlias = str | tuple[int, int, tuple[str, ...]] | GeneratorEvent | Exception
END = GeneratedEnd(Usage(input_tokens=3, output_tokens=2), "COMPLETE")


@dataclass
class ScriptedGenerator:
    """A generator that plays `script`, then ends, if it does, or hangs.

    Texts and citations by (start, end, paragraph ids) become events, and errors are raised. It may
    be changed between requests. `hanging` is set when it has played all and hangs, `cancelled`
    when an answer is broken off.
    """

    script: Sequence[Step] = ()
    end: GeneratedEnd | None = END
    hangs: bool = False
    model: str = "scripted"
    requests: list[GenerationRequest] = field(default_factory=list)
    hanging: threading.Event = field(default_factory=threading.Event)
    cancelled: threading.Event = field(default_factory=threading.Event)

    def play(self, *script: Step, hangs: bool = False) -> None:
        self.script, self.hangs = script, hangs
        # Fresh ones: an answer of before may still be on its way out.
        self.hanging, self.cancelled = threading.Event(), threading.Event()
        self.requests.clear()

    async def generate(self, request: GenerationRequest) -> AsyncGenerator[GeneratorEvent, None]:
        self.requests.append(request)
        hanging, cancelled = self.hanging, self.cancelled
        try:
            for event in self._events():
                yield event
            if self.hangs:
                hanging.set()
                await asyncio.Event().wait()
        except (asyncio.CancelledError, GeneratorExit):
            cancelled.set()
            raise
        if self.end:
            yield self.end

    def _events(self) -> Iterator[GeneratorEvent]:
        said, written = "".join(one for one in self.script if isinstance(one, str)), 0
        for step in self.script:
            if isinstance(step, Exception):
                raise step
            if isinstance(step, str):
                written += len(step)
                yield GeneratedText(step)
            elif isinstance(step, tuple):
                start, end, paragraph_ids = step
                yield GeneratedCitation(start, said[start:end], paragraph_ids)
            else:
                yield step
            if isinstance(step, TextDiscarded):
                said = said[written:]

    @asynccontextmanager
    async def open(self, settings: Settings) -> AsyncIterator[Application]:
        """Open the application with this generator in it."""
        async with application(settings) as rag:
            answer = rag.answer
            policy = replace(answer.consult.refusal_policy, model=True)
            consult = replace(answer.consult, refusal_policy=policy)
            write = replace(answer.write, model=self)
            yield replace(rag, answer=replace(answer, consult=consult, write=write))
