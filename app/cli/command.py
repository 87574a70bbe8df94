"""How a command is declared, with options that several have, and run: in an event loop, with the
settings and the log of the process.
"""

from __future__ import annotations

import asyncio
import inspect
import resource
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from typer import Argument, Option, Typer

from app.bootstrap.logs import logging_to_stderr
from app.cli import root
from app.cli.output import remark
from app.domain.book_id import BookId
from app.domain.chunking.config import StrategyName
from app.domain.document import Site as SiteName
from app.domain.errors import NO_BOOKS, ConfigError, InputError, RagError
from app.settings import Settings, read_settings, unknown_variables

if TYPE_CHECKING:
    from app.bootstrap.application import Application


def named(path: str) -> str:
    """Refuse an empty path: a script's unset variable would mean this folder."""
    if not path:
        raise InputError("empty: name a folder, a file or an address")
    return path


Json: TypeAlias = Annotated[bool, Option("--json", help="Print JSON on stdout.")]
Yes: TypeAlias = Annotated[bool, Option("--yes", help="Do not ask.")]
Question: TypeAlias = Annotated[str, Argument(metavar="QUESTION", help="In any language.")]
Books: TypeAlias = Annotated[
    list[BookId] | None,
    Option("--book", parser=BookId, metavar="ID", help="Only this book; repeatable."),
]
OneBook: TypeAlias = Annotated[
    BookId | None, Option("--book", parser=BookId, metavar="ID", help="A book's name in the index.")
]
IndexedBook: TypeAlias = Annotated[
    BookId, Argument(parser=BookId, metavar="BOOK", help="Its name in the index.")
]
SomeBooks: TypeAlias = Annotated[
    list[BookId] | None, Argument(parser=BookId, metavar="BOOK", help="Only these; else all.")
]
Site: TypeAlias = Annotated[
    SiteName | None, Option("--site", help="The site's generator, if it is not detected.")
]
Source: TypeAlias = Annotated[
    str,
    Argument(
        parser=named,
        metavar="PATH",
        help="A folder of Markdown or built pages, one file, or a site's address.",
    ),
]
Strategy: TypeAlias = Annotated[
    StrategyName | None, Option("--strategy", help="Chunking strategy (structure).")
]
Port: TypeAlias = Annotated[
    int | None, Option("--port", min=1, max=65_535, help="Port to listen on (RAG_PORT).")
]

Command: TypeAlias = Callable[..., Coroutine[None, None, int | None]]
"""`command(settings, **options)` returns the exit code; None is 0."""

_MEMORY = 2 * 10**9
"""Bytes of address space: a server with the sample book uses 1.7 GB, most of it not in memory."""


def command(
    name: str = "", *, group: Typer = root, server: bool = False
) -> Callable[[Command], Command]:
    """Add a function to a group of commands; all its parameters but the settings are options.

    A `server` logs its events; other commands log only warnings and errors.
    """

    def add(function: Command) -> Command:
        _, *options = inspect.signature(function, eval_str=True).parameters.values()

        def run(**given: object) -> int:
            return _run(function, given, server=server)

        run.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
        run.__doc__ = function.__doc__
        group.command(name or function.__name__)(run)
        return function

    return add


def open_application(settings: Settings) -> AbstractAsyncContextManager[Application]:
    # The import takes half a second, which a command's help and its completion do without.
    from app.bootstrap.application import application  # noqa: PLC0415

    return application(settings)


def _run(function: Command, given: dict[str, Any], *, server: bool) -> int:
    _require_memory()
    settings = read_settings()
    for line in unknown_variables():
        remark(f"textbook-rag: warning: {line}")
    with logging_to_stderr(settings, server=server):
        try:
            code = asyncio.run(function(settings, **given))
        except RagError as error:
            if NO_BOOKS in str(error):
                error.add_note(searched_place(settings))
            raise
    return code or 0


def searched_place(settings: Settings) -> str:
    """Say where a command looked for books."""
    if settings.qdrant_url:
        return "looked on the server at QDRANT_URL"
    return f"looked in {settings.home.resolve()} (RAG_HOME)"


def _require_memory() -> None:
    """ConfigError if the process may map too little memory.

    The index's engine then aborts, hangs, or leaves files half written when it opens a book.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < _MEMORY:
        raise ConfigError(
            f"not enough memory: the process may map {limit / 1e9:.1f} GB (`ulimit -v`), but it "
            f"needs {_MEMORY / 1e9:.0f} GB and the size of the index"
        )
