"""The path of a chapter, a question and a citation through the modules of `app`.

    python scripts/bench/walk.py [--edges]

Runs each walk once on a small book, in this process, with a profiler that sees every Python call: a
chapter to the index, a question of `POST /v1/chat` to its answer (offline, then with the tests'
double of Cohere), a citation to its page. Prints a line for each:

- hand-overs: distinct pairs of modules, the first of which calls a function of the second. A module
  counts as the caller if its frame is the nearest one of `app` on the stack, so calls through a
  library or an awaited coroutine count.
- carrying: those hand-overs whose arguments contain the followed value: the question's text, the
  chapter's text or the paragraph's id, in a string or in the fields of a dataclass or model, up to
  four deep. These are the calls that a reader of the code follows.
- modules: those entered by a carrying hand-over. Again: modules that are left and then entered from
  a module that had not entered them before.
- upwards: carrying hand-overs to a higher layer (`main, cli > api > bootstrap > adapters, settings
  > services > domain`). A use case's call of a port's method is one of them.

Calls within a module, and the methods that dataclasses generate, do not count. `--edges` prints the
carrying hand-overs in their order.
"""

import argparse
import asyncio
import dataclasses
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

import httpx
from dev_sets import ROOT
from fastapi import FastAPI
from pydantic import BaseModel

sys.path.insert(0, str(ROOT))  # the double is one of the tests

from app.domain.book_id import BookId
from app.main import create_app
from app.services.ingest_plan import IngestRequest
from app.services.phases import Phases
from app.settings import Settings
from tests.cohere_double import CohereDouble

LAYERS = {
    "domain": 0, "services": 1, "adapters": 2, "settings": 2, "bootstrap": 3, "api": 4, "main": 5,
    "cli": 5,
}  # fmt: skip
DEEPEST = 4
"""Levels of fields and items that are searched for the followed value."""
FIRST = 200
"""Items of a sequence that are searched."""
QUESTION = "What is a quokkaform?"
TEXT = "A quokkaform is a table of every marsupial that the ranger has met."
BOOK = BookId("walk")
CHAPTER = f"""# Tables of marsupials

{TEXT} It is written at dusk, and it is read again at dawn by whoever comes next.

## How it is kept

The ranger keeps a quokkaform dry, since ink runs in the rain. Each page has a date and a place.
"""


@dataclass
class Walk:
    """The profiler's records while a value was followed."""

    followed: str
    edges: dict[tuple[str, str], bool] = field(default_factory=dict)
    """(caller, callee) in order of first use; True once an argument contained the followed value.
    """
    carrying: list[tuple[str, str]] = field(default_factory=list)
    _seen: dict[int, FrameType] = field(default_factory=dict)
    """Frames, kept alive so that no id is reused: a resumed coroutine is not a new call."""

    def profile(self, frame: FrameType, event: str, _: object) -> None:
        if event != "call" or id(frame) in self._seen:
            return
        called = module(frame)
        if not called:
            return
        self._seen[id(frame)] = frame
        caller = calling(frame)
        if not caller or caller == called:
            return
        edge = caller, called
        if not self.edges.setdefault(edge, False) and self._carries(frame):
            self.edges[edge] = True
            self.carrying.append(edge)

    def _carries(self, frame: FrameType) -> bool:
        code = frame.f_code
        count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4)
        names = code.co_varnames[: count + bool(code.co_flags & 8)]
        known = frame.f_locals
        return any(holds(known[name], self.followed) for name in names if name in known)

    @property
    def modules(self) -> set[str]:
        return {called for _, called in self.carrying} | {caller for caller, _ in self.carrying}

    @property
    def again(self) -> set[str]:
        entered = [called for _, called in self.carrying]
        return {one for one in entered if entered.count(one) > 1}

    @property
    def upwards(self) -> list[tuple[str, str]]:
        return [(a, b) for a, b in self.carrying if layer(b) > layer(a)]


def module(frame: FrameType) -> str:
    """The frame's module below `app`; "" for other modules and generated code."""
    name = str(frame.f_globals.get("__name__", ""))
    if not name.startswith("app.") or frame.f_code.co_filename.startswith("<"):
        return ""
    return name.removeprefix("app.").removesuffix(".__init__")


def calling(frame: FrameType) -> str:
    """The nearest module of `app` on the stack of callers."""
    back = frame.f_back
    while back is not None:
        if found := module(back):
            return found
        back = back.f_back
    return ""


def layer(name: str) -> int:
    return LAYERS[name.partition(".")[0]]


def holds(value: object, text: str, depth: int = DEEPEST) -> bool:
    """Whether the value, its items or its fields contain a string with the text."""
    if isinstance(value, str):
        return text in value
    if not depth:
        return False
    if isinstance(value, BaseModel):
        parts: Sequence[object] = list(value.__dict__.values())
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = [getattr(value, one.name, None) for one in dataclasses.fields(value) if one.repr]
    elif isinstance(value, dict):
        parts = list(value.values())[:FIRST]
    elif isinstance(value, list | tuple | set | frozenset):
        parts = list(value)[:FIRST]
    else:
        return False
    return any(holds(one, text, depth - 1) for one in parts)


class Profiler:
    """Passes profiler events to the current walk, if there is one."""

    def __init__(self) -> None:
        """Profile this thread and all later ones: threads of a pool outlive a walk."""
        self.walk: Walk | None = None
        threading.setprofile(self)
        sys.setprofile(self)

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        if self.walk is not None:
            self.walk.profile(frame, event, argument)

    async def follow(self, text: str, work: Awaitable[object]) -> Walk:
        self.walk = walk = Walk(text)
        try:
            await work
        finally:
            self.walk = None
        return walk


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[tuple[FastAPI, httpx.AsyncClient]]:
    app = create_app(settings)
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://localhost") as client,
    ):
        yield app, client


async def walks(
    home: Path, cohere: CohereDouble, profiler: Profiler
) -> AsyncIterator[tuple[str, Walk]]:
    folder = home / "book"
    folder.mkdir()
    (folder / "marsupials.md").write_text(CHAPTER, encoding="utf-8")
    offline = {"embedder": "local", "generator": "extractive", "cohere_api_key": None}
    double = {"cohere_api_key": cohere.key, "cohere_base_url": cohere.url}
    for name, choice in (("offline", offline), ("Cohere's double", double)):
        fields = {**choice, "home": home / name[:3], "qdrant_url": None}
        settings = Settings.model_validate({**Settings(_env_file=None).model_dump(), **fields})
        async with opened(settings) as (app, client):
            ingest = app.state.application.ingest.run(IngestRequest(folder, book=BOOK), Phases())
            read = await profiler.follow(TEXT, ingest)
            question = client.post("/v1/chat", json={"question": QUESTION, "stream": True})
            answered = await profiler.follow(QUESTION, question)
            if choice is offline:
                yield "chapter to index", read
            yield f"question to answer, {name}", answered
            if choice is offline:
                answer = (await client.post("/v1/chat", json={"question": QUESTION})).json()
                cited = answer["citations"][0]["paragraph_id"]
                link = client.get(f"/cite/{cited}")
                yield "citation to page", await profiler.follow(cited, link)


async def run(*, edges: bool) -> None:
    print("| walk | modules | again | hand-overs | upwards | hand-overs of all calls |")
    print("|---|---:|---:|---:|---:|---:|")
    shown: list[str] = []
    profiler = Profiler()
    with tempfile.TemporaryDirectory() as home, CohereDouble() as cohere:
        async for name, walk in walks(Path(home), cohere, profiler):
            print(
                f"| {name} | {len(walk.modules)} | {len(walk.again)} | {len(walk.carrying)} "
                f"| {len(walk.upwards)} | {len(walk.edges)} |"
            )
            shown += [f"\n{name}"]
            for caller, called in walk.carrying:
                up = "  (up)" if layer(called) > layer(caller) else ""
                shown.append(f"  {caller} -> {called}{up}")
    if edges:
        print("\n".join(shown))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--edges", action="store_true", help="print the carrying hand-overs too")
    asyncio.run(run(edges=parser.parse_args().edges))


if __name__ == "__main__":
    main()
