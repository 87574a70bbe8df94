"""Options shared by several commands, and the types of their values."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TypeAlias, TypeVar

from app.domain.book_id import BookId
from app.domain.document import BlockKind, Site
from app.domain.errors import InputError
from app.domain.retrieval.query import SearchMode
from app.domain.urls import checked_base_url

if TYPE_CHECKING:
    Commands: TypeAlias = argparse._SubParsersAction[argparse.ArgumentParser]


def add_command(
    commands: Commands, name: str, run: str, help: str, *, server: bool = False
) -> argparse.ArgumentParser:
    """Add a command; `run` names its `module.function` in this package.

    A `server` logs its events; other commands log only warnings and errors.
    """
    command = commands.add_parser(name, help=help)
    command.set_defaults(run=run, server=server)
    return command


def flag(command: argparse.ArgumentParser, name: str, help: str) -> None:
    command.add_argument(name, action="store_true", help=help)


def repeatable(
    command: argparse.ArgumentParser,
    name: str,
    metavar: str,
    help: str,
    type: Callable[[str], str] = str,
) -> None:
    command.add_argument(name, type=type, action="append", default=[], metavar=metavar, help=help)


def source_arguments(command: argparse.ArgumentParser, name: str) -> None:
    what = "a folder of Markdown or built pages, one file, or a site's address"
    command.add_argument("path", type=_place, metavar=name, help=what)
    command.add_argument("--site", type=one_of(Site), choices=Site, help="detected from the folder")
    base_url_option(command, "where the site is served")
    flag(command, "--allow-private", "fetch from addresses of a private network or this machine")
    flag(
        command,
        "--skip-refused",
        "leave out files over the reading budget, not UTF-8 or broken notebooks with a warning",
    )
    json_option(command)


def _place(text: str) -> Path | str:
    """Return a path, or an address as it is given."""
    return text if "://" in text else Path(text)


def base_url_option(command: argparse.ArgumentParser, help: str) -> None:
    command.add_argument("--base-url", type=checked_base_url, default="", metavar="URL", help=help)


def question_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("question", metavar="QUESTION", help="in any language")
    repeatable(command, "--book", "ID", "ask only this book; repeatable", BookId)
    command.add_argument("--k", type=positive, default=5, help="chunks to retrieve")
    json_option(command)


class OneLineParser(argparse.ArgumentParser):
    """Prints a usage error as one line; argparse would print the whole usage before it."""

    def parse_known_args(  # type: ignore[override]  # typeshed overloads it by the namespace
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Refuse unknown arguments here, so that the message names the command and its help."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if isinstance(action, argparse._SubParsersAction) and value not in action.choices:
            near = get_close_matches(str(value), action.choices, 1)
            hint = f"; did you mean `{self.prog} {near[0]}`?" if near else ""
            self.error(f"there is no command {value!r}{hint}")
        super()._check_value(action, value)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see `{self.prog} --help`\n")


Choice = TypeVar("Choice", bound=StrEnum)


def one_of(names: type[Choice]) -> Callable[[str], Choice]:
    """Return a `type` for argparse whose error message lists the allowed values."""

    def parse(text: str) -> Choice:
        try:
            return names(text)
        except ValueError:
            message = f"{text!r} is not one of: {', '.join(names)}"
            raise argparse.ArgumentTypeError(message) from None

    return parse


def port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:6]) <= 65_535:
        message = f"{text!r} is not a port: use a number from 1 to 65535"
        raise InputError(message)
    return int(text)


def json_option(command: argparse.ArgumentParser) -> None:
    flag(command, "--json", "print JSON on stdout")


def quiet_option(command: argparse.ArgumentParser) -> None:
    flag(command, "--quiet", "no progress on stderr")


def book_argument(command: argparse.ArgumentParser) -> None:
    command.add_argument("book", type=BookId, metavar="BOOK", help="its name in the index")


def books_argument(command: argparse.ArgumentParser, help: str) -> None:
    command.add_argument("books", type=BookId, metavar="BOOK", nargs="*", help=help)


def exclude_kinds_option(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--exclude-kinds",
        type=kinds,
        default=frozenset(),
        metavar="KIND,...",
        help="leave out blocks of these kinds, such as exercise",
    )


def mode_option(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--mode",
        type=one_of(SearchMode),
        default=SearchMode.HYBRID,
        choices=SearchMode,
        help="search by vectors (dense), BM25 (sparse) or both (hybrid)",
    )


def positive(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 100:
        message = f"{text!r} is not a number from 1 to 100"
        raise argparse.ArgumentTypeError(message)
    return int(text)


def kinds(text: str) -> frozenset[BlockKind]:
    try:
        # Short names of the specification are accepted too.
        return frozenset(
            BlockKind.GLOSSARY_ENTRY if name == "glossary" else BlockKind(name)
            for name in (part.strip() for part in text.split(","))
            if name
        )
    except ValueError:
        message = f"unknown kind in {text!r}; kinds are {', '.join(BlockKind)}"
        raise argparse.ArgumentTypeError(message) from None
