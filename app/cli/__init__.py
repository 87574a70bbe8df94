"""Runs one command. Exit codes: 0 done, 1 failed, 2 wrong input or settings, 130 interrupted."""

from __future__ import annotations

import argparse
import asyncio
import errno
import os
import resource
import sys
from collections.abc import Callable, Coroutine, Sequence
from contextlib import redirect_stdout, suppress
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO, TypeAlias, cast

from app.bootstrap.logs import logging_to
from app.cli.arguments import parser
from app.cli.printing import PrintableOutput, remark, searched_place
from app.domain.errors import NO_BOOKS, NO_MEMORY, ConfigError, InputError, RagError
from app.domain.surrogates import is_well_formed
from app.services.safe_paths import shown_name
from app.settings import Settings, read_settings, unknown_variables

Command: TypeAlias = Callable[[argparse.Namespace, Settings], Coroutine[None, None, int | None]]

_MEMORY = 2 * 10**9
"""Bytes of address space: a server with the sample book uses 1.7 GB, most of it not in memory."""

_SHOWN = 200
"""Characters of a file's name in a message."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. A RagError is printed as one line on stderr."""
    if isinstance(sys.stdout, TextIOWrapper):
        # Escape characters that the terminal cannot show, as JSON does.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        arguments = parser().parse_args(argv)
        _require_text(arguments)
        _require_memory()
        settings = _settings()
        shown = cast("TextIO", PrintableOutput(sys.stdout))
        with redirect_stdout(shown), logging_to(sys.stderr, settings, server=arguments.server):
            code = int(asyncio.run(_run(arguments, settings)) or 0)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except RagError as error:
        line = "; ".join([str(error), *getattr(error, "__notes__", [])])
        remark(f"textbook-rag: {line}")
        return error.exit_code
    except BrokenPipeError:
        # The reader of the output (head, less) may stop early.
        sys.stderr.close()
        return 0
    except OSError as error:
        return _of_the_system(error)
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and str(error) != "can't start new thread":
            raise
        remark(f"textbook-rag: {NO_MEMORY}")
        return 1
    except KeyboardInterrupt:
        remark("textbook-rag: stopped; the index is unchanged")
        return 130


async def _run(arguments: argparse.Namespace, settings: Settings) -> int | None:
    try:
        return await _command(arguments.run)(arguments, settings)
    except RagError as error:
        if NO_BOOKS in str(error):
            error.add_note(searched_place(settings))
        raise


def _of_the_system(error: OSError) -> int:
    """Print an error of a file, the disk or stdout as one line; return the exit code."""
    reason = error.strerror or str(error)
    if isinstance(error.filename, str | bytes) and error.filename:
        reason = f"{shown_name(os.fsdecode(error.filename))[:_SHOWN]}: {reason}"
    else:
        with suppress(OSError):
            sys.stdout.close()  # else the text that could not be written fails again at exit
    remark(f"textbook-rag: {reason}")
    return 2 if error.errno == errno.ENAMETOOLONG else 1


def _command(name: str) -> Command:
    """Import `module.function` of this package; other commands' modules are not loaded."""
    module, _, function = name.partition(".")
    command: Command = getattr(import_module(f"app.cli.{module}"), function)
    return command


def _require_text(arguments: argparse.Namespace) -> None:
    """Raise InputError for a text argument that is not UTF-8; file names may be any bytes."""
    for value in vars(arguments).values():
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, str) and not is_well_formed(one) and not Path(one).exists():
                message = f"{shown_name(one)}: not UTF-8"
                raise InputError(message)


def _require_memory() -> None:
    """ConfigError if the process may map too little memory.

    The index's engine then aborts, hangs, or leaves files half written when it opens a book.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < _MEMORY:
        message = (
            f"not enough memory: the process may map {limit / 1e9:.1f} GB (`ulimit -v`), but it "
            f"needs {_MEMORY / 1e9:.0f} GB and the size of the index"
        )
        raise ConfigError(message)


def _settings() -> Settings:
    settings = read_settings()
    for name, similar in unknown_variables().items():
        hint = f"did you mean {similar}?" if similar else "see .env.example"
        remark(f"textbook-rag: warning: {name} is not a setting; {hint}")
    return settings
