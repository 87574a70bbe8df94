"""The command-line parser: all commands and their options."""

from __future__ import annotations

import argparse
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from app.cli.options import (
    OneLineParser,
    add_command,
    base_url_option,
    book_argument,
    books_argument,
    exclude_kinds_option,
    flag,
    json_option,
    mode_option,
    one_of,
    port,
    positive,
    question_arguments,
    quiet_option,
    repeatable,
    source_arguments,
)
from app.domain.answering.exercises import Solutions
from app.domain.answering.request import Scope
from app.domain.book_id import BookId
from app.domain.chunking.config import StrategyName
from app.domain.document import Site
from app.domain.edition import ONLY, Edition
from app.domain.evaluation.measurement import Measure

if TYPE_CHECKING:
    from app.cli.options import Commands
    from app.settings import Settings

_QUESTIONS = "questions with known answers, one JSON object per line"
_COMPARED = ("fixed", "recursive", "sentence", "auto", "semantic", "structure", "late")


def parser() -> argparse.ArgumentParser:
    root: argparse.ArgumentParser = OneLineParser(
        prog="textbook-rag",
        description="Answers from a textbook, with a link to each cited paragraph.",
    )
    version = f"textbook-rag {metadata.version('textbook-rag')}"
    root.add_argument("--version", action="version", version=version)
    commands = root.add_subparsers(metavar="COMMAND", required=True)
    _reading(commands)
    _asking(commands)
    _measuring(commands)
    _compare(commands)
    _index(commands)
    _upkeep(commands)
    _backup(commands)
    _links(commands)
    _stamp(commands)
    _llms(commands)
    _ledger(commands)
    _keys(commands)
    _question_log(commands)
    _serving(commands)
    _completion(commands)
    return root


def _reading(commands: Commands) -> None:
    ingest = add_command(
        commands,
        "ingest",
        "index_commands.ingest",
        "bring the index up to date with a book's folder",
    )
    source_arguments(ingest, "BOOK_DIR")
    ingest.add_argument(
        "--book", type=BookId, metavar="ID", help="the book's name in the index (folder's name)"
    )
    ingest.add_argument(
        "--edition",
        type=Edition.of_version,
        default=ONLY,
        metavar="VERSION",
        help="ingest the folder as this version of the book, served at <base URL>/VERSION (mike)",
    )
    _chunking_options(ingest)
    flag(ingest, "--dry-run", "print what would change and what it costs")
    flag(ingest, "--force", "write the index again even if nothing changed")
    quiet_option(ingest)

    said = "print a book's blocks, one JSON object per line"
    blocks = add_command(commands, "blocks", "reading_commands.blocks", said)
    source_arguments(blocks, "PATH")
    flag(blocks, "--coverage", "last line: share of the source that is covered")
    flag(
        blocks,
        "--source",
        "print instead the text that start and end count in: a notebook's is its Markdown",
    )

    chunks = add_command(
        commands,
        "chunks",
        "reading_commands.chunks",
        "print a book's chunks, one JSON object per line",
    )
    source_arguments(chunks, "PATH")
    _chunking_options(chunks)
    flag(chunks, "--report", "print sizes, overlap and broken blocks instead")


def _chunking_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--strategy", metavar="NAME", help="chunking strategy (structure)")
    exclude_kinds_option(command)


def _asking(commands: Commands) -> None:
    search = add_command(commands, "search", "question_commands.search", "find passages")
    question_arguments(search)
    mode_option(search)

    ask = add_command(commands, "ask", "question_commands.ask", "answer a question with citations")
    question_arguments(ask)
    ask.add_argument(
        "--page", default="", metavar="URL", help="the page that the reader is on, as URL or path"
    )
    ask.add_argument(
        "--scope",
        type=one_of(Scope),
        choices=Scope,
        help="the part of the book to answer from; page, chapter and so_far need --page",
    )
    ask.add_argument(
        "--selection",
        default="",
        metavar="TEXT",
        help="text of the page that the question is about",
    )
    ask.add_argument(
        "--solutions",
        type=one_of(Solutions),
        choices=Solutions,
        help="how much to show of an exercise's solution (RAG_SOLUTIONS)",
    )
    ask.add_argument(
        "--history",
        type=Path,
        metavar="FILE.json",
        help='the conversation so far, oldest turn first: [{"role": "user", "content": "..."}]',
    )
    ask.set_defaults(k=8)  # refusal and extraction are calibrated with 8


def _measuring(commands: Commands) -> None:
    command = add_command(
        commands, "eval", "eval_command.evaluate", "measure on questions with known answers"
    )
    command.add_argument(
        "questions", type=Path, nargs="?", metavar="QUESTIONS.jsonl", help=_QUESTIONS
    )
    command.add_argument("--book", type=BookId, metavar="ID", help="ask this book only")
    measures = command.add_mutually_exclusive_group()
    for name, of, said in (
        ("--answers", Measure.ANSWERS, "measure citations and refusals, not retrieval"),
        ("--helpful", Measure.HELPFUL, "the same, and each question must have key facts"),
        ("--calibrate", Measure.ANSWERABILITY, "measure scores without answers, by threshold"),
    ):
        measures.add_argument(name, dest="of", action="store_const", const=of, help=said)
    command.set_defaults(of=Measure.RETRIEVAL)
    command.add_argument(
        "--half", choices=("development", "final"), help="use only this half of the questions"
    )
    command.add_argument("--k", type=positive, help="chunks to retrieve (5; for answers 8)")
    mode_option(command)
    flag(command, "--rerank", "rerank with Cohere (needs a key)")
    flag(
        command,
        "--rewrite",
        "rewrite follow-up questions to stand alone, with the model that writes answers",
    )
    flag(command, "--json", "print means and rows as JSON")
    command.add_argument(
        "--compare",
        type=Path,
        nargs=2,
        metavar=("A.json", "B.json"),
        help="instead, compare two outputs of --json with paired bootstrap intervals",
    )


def _compare(commands: Commands) -> None:
    command = add_command(
        commands, "compare", "compare_command.compare", "compare chunking strategies on a book"
    )
    source_arguments(command, "BOOK_DIR")
    command.add_argument("questions", type=Path, metavar="QUESTIONS.jsonl", help=_QUESTIONS)
    command.add_argument(
        "--strategies",
        nargs="+",
        metavar="NAME",
        default=[name for name in _COMPARED if name != StrategyName.LATE],
        help=f"from {', '.join(_COMPARED)} (all but late, which needs RAG_EMBEDDER=minilm)",
    )
    exclude_kinds_option(command)


def _index(commands: Commands) -> None:
    listing = add_command(commands, "books", "index_commands.listing", "list the indexed books")
    json_option(listing)

    remove = add_command(
        commands, "remove", "index_commands.remove", "remove a book from the index"
    )
    book_argument(remove)
    json_option(remove)
    flag(remove, "--yes", "do not ask on a terminal")

    rollback = add_command(
        commands, "rollback", "index_commands.rollback", "go back to a book's previous generation"
    )
    book_argument(rollback)
    json_option(rollback)


def _upkeep(commands: Commands) -> None:
    verify = add_command(
        commands, "verify", "index_commands.verify", "check everything that is stored for damage"
    )
    books_argument(verify, "all when none is named")
    flag(verify, "--full", "read every point on a Qdrant server, not a sample")
    flag(verify, "--repair", "go back from a damaged generation to the previous one")
    json_option(verify)


def _backup(commands: Commands) -> None:
    backup = add_command(
        commands,
        "backup",
        "backup_commands.backup",
        "write all books and local state into one file",
    )
    backup.add_argument(
        "file", type=Path, metavar="FILE", help="the backup; it appears when complete"
    )
    flag(backup, "--force", "replace an existing file")
    quiet_option(backup)
    json_option(backup)

    restore = add_command(
        commands,
        "restore",
        "backup_commands.restore",
        "restore books and local state from a backup",
    )
    restore.add_argument("file", type=Path, metavar="FILE", help="a file written by `backup`")
    books_argument(restore, "restore only these books (default: all books and missing local state)")
    flag(restore, "--yes", "replace indexed books without asking")
    quiet_option(restore)
    json_option(restore)


def _links(commands: Commands) -> None:
    links = add_command(
        commands, "links", "link_commands.links", "print every paragraph's deep link as JSON lines"
    )
    links.add_argument("book", metavar="BOOK", help="an indexed book, or a book's folder")
    links.add_argument("--site", type=one_of(Site), choices=Site, help="for a folder (detected)")
    base_url_option(links, "for a folder: where the site is served")
    links.add_argument(
        "--check",
        metavar="SITE",
        help="a site's URL or folder: print the broken links; exit code 1 if any",
    )
    flag(links, "--json", "print misses as JSON; without --check always")


def _stamp(commands: Commands) -> None:
    stamp = add_command(
        commands,
        "stamp",
        "link_commands.stamp",
        "write the paragraphs' ids into a built site's HTML",
    )
    stamp.add_argument("path", type=Path, metavar="SITE_DIR", help="the folder of the built site")
    stamp.add_argument(
        "--book", type=BookId, metavar="ID", help="the book's name in the index (folder's name)"
    )
    base_url_option(stamp, "where the site is served")


def _llms(commands: Commands) -> None:
    llms = add_command(
        commands, "llms", "index_commands.llms", "print a book's llms.txt, for the root of its site"
    )
    book_argument(llms)
    flag(llms, "--full", "print llms-full.txt instead, with the book's whole text")


def _ledger(commands: Commands) -> None:
    ledger = commands.add_parser("ledger", help="export or import a book's paragraph ids")
    actions = ledger.add_subparsers(metavar="ACTION", required=True)
    export = add_command(
        actions, "export", "index_commands.export_ledger", "write the ids as JSON lines"
    )
    book_argument(export)
    export.add_argument("file", metavar="FILE", nargs="?", type=Path, help="stdout when left out")
    load = add_command(actions, "import", "index_commands.import_ledger", "import exported ids")
    book_argument(load)
    load.add_argument("file", metavar="FILE", type=Path, help="a file written by `ledger export`")


def _keys(commands: Commands) -> None:
    keys = commands.add_parser("keys", help="add, list or revoke keys that may use the API")
    actions = keys.add_subparsers(metavar="ACTION", required=True)
    add = add_command(actions, "add", "key_commands.add", "make a key and print it once")
    origins = "a web site whose pages may use the publishable key; repeatable"
    repeatable(add, "--origin", "URL", origins)
    books = "a book that may be asked with the key; repeatable (all books)"
    repeatable(add, "--book", "ID", books, BookId)
    flag(add, "--secret", "a secret key for a server")
    add.add_argument("--label", default="", metavar="TEXT", help="a note for the list")
    flag(add, "--json", "print the key and its properties as JSON")
    listing = add_command(actions, "list", "key_commands.listing", "list the keys by id")
    flag(listing, "--json", "print the keys as a JSON array")
    revoke = add_command(actions, "revoke", "key_commands.revoke", "make a key invalid")
    revoke.add_argument("id", metavar="ID", help="the key's id in `keys list`")


def _question_log(commands: Commands) -> None:
    report = add_command(
        commands,
        "report",
        "question_log_commands.report",
        "what readers ask a book, from the question log",
    )
    book_argument(report)
    report.add_argument(
        "--since", default="30d", metavar="TIME", help="30d, 12h, 4w or a date (30d)"
    )
    report.add_argument("--html", type=Path, metavar="FILE", help="write the report as a page")
    report.add_argument("--csv", type=Path, metavar="FILE", help="write the questions as a table")
    report.add_argument(
        "--gaps", type=Path, metavar="FILE.md", help="write unanswered questions as issues"
    )
    flag(report, "--json", "print the report as JSON")
    flag(report, "--to-eval", "instead, print the questions in the format of `eval`")
    only = "with --to-eval: only the question of this answer; repeatable"
    repeatable(report, "--answer", "ID", only)

    forget = add_command(
        commands, "forget", "question_log_commands.forget", "delete questions from the question log"
    )
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
    repeatable(forget, "--answer", "ID", "by answer_id; repeatable")
    flag(forget, "--all", "all questions")
    flag(forget, "--json", "print the number as JSON")


def _serving(commands: Commands) -> None:
    about = "serve the API and a page that lists the books"
    serve = add_command(commands, "serve", "serve_commands.serve", about, server=True)
    serve.add_argument("--host", help="address to listen on (RAG_HOST)")
    _port(serve)
    serve.add_argument(
        "--workers", type=positive, help="processes, with a Qdrant server (RAG_WORKERS)"
    )
    flag(serve, "--open", "let everybody ask without a key (RAG_OPEN)")

    about = "serve the books to an agent by the Model Context Protocol, on stdin and stdout"
    add_command(commands, "mcp", "serve_commands.mcp", about, server=True)

    about = "ingest the sample book, then serve it"
    demo = add_command(commands, "demo", "serve_commands.demo", about, server=True)
    _port(demo)
    flag(demo, "--no-serve", "only ingest the sample book")


def _port(command: argparse.ArgumentParser) -> None:
    command.add_argument("--port", type=port, help="port to listen on (RAG_PORT)")


def _completion(commands: Commands) -> None:
    command = add_command(
        commands, "completion", "arguments.completion", "print a script that completes commands"
    )
    command.add_argument(
        "shell", metavar="SHELL", choices=("bash", "zsh", "tcsh"), help="bash, zsh or tcsh"
    )


async def completion(arguments: argparse.Namespace, settings: Settings) -> None:
    """Print a shell's completion script."""
    import shtab  # noqa: PLC0415 - only this command needs it

    del settings  # the script depends on the commands alone
    print(shtab.complete(parser(), arguments.shell))
