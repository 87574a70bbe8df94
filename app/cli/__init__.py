"""Runs one command. Exit codes: 0 done, 1 failed, 2 wrong input or settings, 130 interrupted."""

import errno
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module, metadata
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from app.cli.output import remark, said, say
from app.domain.characters import is_well_formed
from app.domain.errors import InputError, RagError
from app.services.safe_paths import shown_name

NAME = "textbook-rag"
INTERRUPTED = 130

_SHOWN = 200
"""Characters of a file's name in a message."""

COMMANDS = {
    "ingest": ("ingest", "Bring the index up to date with a book's pages."),
    "blocks": ("paragraphs", "Print a book's blocks, one JSON object a line."),
    "chunks": ("paragraphs", "Print a book's chunks, one JSON object a line."),
    "search": ("questions", "Find passages."),
    "ask": ("questions", "Answer a question with citations."),
    "eval": ("evaluation", "Measure on questions with known answers."),
    "serve": ("serving", "Serve the API and a page that lists the books."),
    "demo": ("serving", "Ingest the sample book, then serve it."),
    "mcp": ("serving", "Serve the books to an agent on stdin and stdout."),
    "doctor": ("doctor", "Say which models and index are used, and what would be better."),
    "books": ("books", "List the indexed books."),
    "remove": ("books", "Remove a book from the index."),
    "rollback": ("books", "Go back to a book's previous generation."),
    "verify": ("books", "Check everything that is stored for damage."),
    "backup": ("books", "Write all books and local state into one file."),
    "restore": ("books", "Restore books and local state from a backup."),
    "links": ("paragraphs", "Print or check the link of every paragraph."),
    "stamp": ("paragraphs", "Write the paragraphs' ids into a built site's HTML."),
    "keys": ("keys", "Add, list or revoke keys that may use the API."),
    "report": ("question_log", "What readers ask a book, from the question log."),
    "forget": ("question_log", "Delete questions from the question log."),
}
"""Name of a command: its module in this package, and its line in the list of commands."""


class Commands(TyperGroup):
    """Imports the module of a command when it is called: those of all commands take a second."""

    def __init__(self, **attributes: Any) -> None:  # noqa: ANN401 - typer's
        super().__init__(**attributes)
        for name, (_, line) in COMMANDS.items():
            if name not in self.commands:
                self.add_command(TyperCommand(name, help=line))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401 - typer's
        name, _, rest = super().resolve_command(ctx, args)
        return name, name and loaded(name), rest


root = typer.Typer(cls=Commands, rich_markup_mode=None)


def loaded(name: str) -> Any:  # noqa: ANN401 - a class that typer does not export
    """Return a command with its options, or a group of commands."""
    import_module(f"app.cli.{COMMANDS[name][0]}")
    return cast("TyperGroup", get_command(root)).commands[name]


def _print_version(wanted: bool) -> None:
    if wanted:
        say(f"{NAME} {metadata.version(NAME)}")
        raise typer.Exit


@root.callback()
def _root(
    _: Annotated[
        bool,
        typer.Option(
            "--version", is_eager=True, callback=_print_version, help="Print the version."
        ),
    ] = False,
) -> None:
    """Answers from a textbook, with a link to each cited paragraph."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code. Errors are printed as one line on stderr."""
    if isinstance(sys.stdout, TextIOWrapper):
        # Escape characters that the terminal cannot show, as JSON does.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        _require_text(sys.argv[1:] if argv is None else argv)
        code = int(get_command(root).main(argv, NAME, standalone_mode=False) or 0)
        if sys.stdout is not None:
            sys.stdout.flush()  # an error of the output belongs to this command
    except typer.TyperException as error:
        return _misused(error)
    except RagError as error:
        remark(f"{NAME}: {said(error)}")
        return error.exit_code
    except OSError as error:
        return _of_the_system(error)
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and str(error) != "can't start new thread":
            raise
        remark(f"{NAME}: not enough memory: allow the process more; no book is half-written")
        return 1
    if code == INTERRUPTED:
        remark(f"{NAME}: stopped; no book is half-written")
    return code


def _require_text(arguments: Sequence[str]) -> None:
    """Raise InputError for an argument that is not UTF-8; names of files may be any bytes."""
    for one in arguments:
        if not is_well_formed(one) and not Path(one).exists():
            raise InputError(f"{shown_name(one)}: not UTF-8")


def _misused(error: typer.TyperException) -> int:
    """Print what is wrong with the arguments, and whose help to read."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context else NAME
    message = " ".join(error.format_message().split()).replace("Value error, ", "").rstrip(".")
    remark(f"{command}: {message}; see `{command} --help`")
    return error.exit_code


def _of_the_system(error: OSError) -> int:
    """Print an error of a file, the disk or stdout as one line; return the exit code."""
    reason = error.strerror or str(error)
    if isinstance(error.filename, str | bytes) and error.filename:
        reason = f"{shown_name(os.fsdecode(error.filename))[:_SHOWN]}: {reason}"
    else:
        with suppress(OSError):
            sys.stdout.close()  # else the text that could not be written fails again at exit
    remark(f"{NAME}: {reason}")
    return 2 if error.errno == errno.ENAMETOOLONG else 1
