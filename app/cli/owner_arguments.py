"""The commands and options for the owner of a server and its books."""

from __future__ import annotations

import argparse
from pathlib import Path

from app.cli.options import port, positive
from app.domain.book_id import BookId

_BOOK = "its name in the index"


def serving(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    serve = commands.add_parser("serve", help="serve the API and a page that lists the books")
    serve.add_argument("--host", help="address to listen on (RAG_HOST)")
    serve.add_argument("--port", type=port, help="port to listen on (RAG_PORT)")
    serve.add_argument(
        "--workers", type=positive, help="processes, with a Qdrant server (RAG_WORKERS)"
    )
    serve.add_argument(
        "--open", action="store_true", help="let everybody ask without a key (RAG_OPEN)"
    )
    serve.set_defaults(run="serving.serve")

    mcp = commands.add_parser(
        "mcp", help="serve the books to an agent by the Model Context Protocol, on stdin and stdout"
    )
    mcp.set_defaults(run="serving.mcp")

    demo = commands.add_parser("demo", help="ingest the sample book, then serve it")
    demo.add_argument("--no-serve", action="store_true", help="only ingest the sample book")
    demo.set_defaults(run="serving.demo")


def keys(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    keys = commands.add_parser("keys", help="add, list or revoke keys that may use the API")
    actions = keys.add_subparsers(metavar="ACTION", required=True)
    add = actions.add_parser("add", help="make a key and print it once")
    add.add_argument(
        "--origin",
        action="append",
        default=[],
        metavar="URL",
        help="a web site whose pages may use the publishable key; repeatable",
    )
    add.add_argument(
        "--book",
        type=BookId,
        action="append",
        default=[],
        metavar="ID",
        help="a book that may be asked with the key; repeatable (all books)",
    )
    add.add_argument("--secret", action="store_true", help="a secret key for a server")
    add.add_argument("--label", default="", metavar="TEXT", help="a note for the list")
    add.add_argument("--json", action="store_true", help="print the key and its properties as JSON")
    add.set_defaults(run="key_commands.add")
    listing = actions.add_parser("list", help="list the keys by id")
    listing.add_argument("--json", action="store_true", help="print the keys as a JSON array")
    listing.set_defaults(run="key_commands.listing")
    revoke = actions.add_parser("revoke", help="make a key invalid")
    revoke.add_argument("id", metavar="ID", help="the key's id in `keys list`")
    revoke.set_defaults(run="key_commands.revoke")


def question_log(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    _report(commands)
    _forget(commands)


def _report(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    report = commands.add_parser("report", help="what readers ask a book, from the question log")
    report.add_argument("book", type=BookId, metavar="BOOK", help=_BOOK)
    report.add_argument(
        "--since", default="30d", metavar="TIME", help="30d, 12h, 4w or a date (30d)"
    )
    report.add_argument("--html", type=Path, metavar="FILE", help="write the report as a page")
    report.add_argument("--csv", type=Path, metavar="FILE", help="write the questions as a table")
    report.add_argument(
        "--gaps", type=Path, metavar="FILE.md", help="write unanswered questions as issues"
    )
    report.add_argument("--json", action="store_true", help="print the report as JSON")
    report.add_argument(
        "--to-eval",
        action="store_true",
        help="instead, print the questions in the format of `eval`",
    )
    report.add_argument(
        "--answer",
        action="append",
        default=[],
        metavar="ID",
        help="with --to-eval: only the question of this answer; repeatable",
    )
    report.set_defaults(run="owner_commands.report")


def _forget(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    forget = commands.add_parser("forget", help="delete questions from the question log")
    forget.add_argument("--book", type=BookId, metavar="ID", help="of this book only")
    forget.add_argument(
        "--before", default="", metavar="TIME", help="questions asked before: 30d or a date"
    )
    forget.add_argument(
        "--containing",
        default="",
        metavar="TEXT",
        help="questions that contain this text, case-insensitive",
    )
    forget.add_argument(
        "--answer", action="append", default=[], metavar="ID", help="by answer_id; repeatable"
    )
    forget.add_argument("--all", action="store_true", help="all questions")
    forget.add_argument("--json", action="store_true", help="print the number as JSON")
    forget.set_defaults(run="owner_commands.forget")
