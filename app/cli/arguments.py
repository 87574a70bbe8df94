"""The command-line parser: all commands and their options."""

from __future__ import annotations

import argparse
from importlib import metadata
from pathlib import Path

from app.cli.options import (
    OneLineParser,
    exclude_kinds_option,
    json_option,
    mode_option,
    one_of,
    positive,
    question_arguments,
    source_arguments,
)
from app.cli.owner_arguments import keys, question_log, serving
from app.domain.answering.exercises import Solutions
from app.domain.answering.request import Scope
from app.domain.book_id import BookId
from app.domain.chunking import StrategyName
from app.domain.document import Site
from app.domain.edition import ONLY, Edition
from app.domain.urls import checked_base_url

_BOOK = "its name in the index"
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
    _llms(commands)
    _ledger(commands)
    keys(commands)
    question_log(commands)
    serving(commands)
    _completion(commands)
    return root


def _completion(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    completion = commands.add_parser("completion", help="print a script that completes commands")
    completion.add_argument(
        "shell", metavar="SHELL", choices=("bash", "zsh", "tcsh"), help="bash, zsh or tcsh"
    )
    completion.set_defaults(run="completing.completion")


def _reading(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    ingest = commands.add_parser("ingest", help="bring the index up to date with a book's folder")
    source_arguments(ingest, "BOOK_DIR")
    ingest.add_argument(
        "--book", type=BookId, metavar="ID", help="the book's name in the index (folder's name)"
    )
    ingest.add_argument(
        "--edition",
        type=_edition,
        default=ONLY,
        metavar="VERSION",
        help="ingest the folder as this version of the book, served at <base URL>/VERSION (mike)",
    )
    ingest.add_argument("--strategy", metavar="NAME", help="chunking strategy (structure)")
    exclude_kinds_option(ingest)
    ingest.add_argument(
        "--dry-run", action="store_true", help="print what would change and what it costs"
    )
    ingest.add_argument(
        "--force", action="store_true", help="write the index again even if nothing changed"
    )
    ingest.add_argument("--quiet", action="store_true", help="no progress on stderr")
    ingest.set_defaults(run="index_commands.ingest")

    blocks = commands.add_parser("blocks", help="print a book's blocks, one JSON object per line")
    source_arguments(blocks, "PATH")
    blocks.add_argument(
        "--coverage", action="store_true", help="last line: share of the source that is covered"
    )
    blocks.set_defaults(run="reading_commands.blocks")

    chunks = commands.add_parser("chunks", help="print a book's chunks, one JSON object per line")
    source_arguments(chunks, "PATH")
    chunks.add_argument("--strategy", metavar="NAME", help="chunking strategy (structure)")
    exclude_kinds_option(chunks)
    chunks.add_argument("--report", action="store_true", help="print the guarantee report instead")
    chunks.set_defaults(run="reading_commands.chunks")


def _asking(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    search = commands.add_parser("search", help="find passages")
    question_arguments(search)
    mode_option(search)
    search.set_defaults(run="questions.search")

    ask = commands.add_parser("ask", help="answer a question with citations")
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
    ask.set_defaults(run="questions.ask")


def _measuring(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser("eval", help="measure on questions with known answers")
    command.add_argument(
        "questions", type=Path, nargs="?", metavar="QUESTIONS.jsonl", help=_QUESTIONS
    )
    command.add_argument("--book", type=BookId, metavar="ID", help="ask this book only")
    command.add_argument(
        "--answers", action="store_true", help="measure citations and refusals, not retrieval"
    )
    command.add_argument(
        "--helpful",
        action="store_true",
        help="measure whether answers contain each question's key facts",
    )
    command.add_argument(
        "--half",
        choices=("development", "final"),
        help="with --helpful or --calibrate: use only this half of the questions",
    )
    command.add_argument(
        "--calibrate",
        action="store_true",
        help="print the outcomes by threshold, and suggest thresholds",
    )
    _search_options(command)
    command.add_argument("--json", action="store_true", help="print means and rows as JSON")
    command.add_argument(
        "--report", type=Path, metavar="FILE.md", help="write a report, its plots beside it"
    )
    command.add_argument(
        "--compare",
        type=Path,
        nargs=2,
        metavar=("A.json", "B.json"),
        help="instead, compare two outputs of --json with paired bootstrap intervals",
    )
    command.set_defaults(run="evaluating.evaluate")


def _search_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--k", type=positive, help="chunks to retrieve (5; for answers 8)")
    mode_option(command)
    command.add_argument("--rerank", action="store_true", help="rerank with Cohere (needs a key)")
    command.add_argument(
        "--rewrite",
        action="store_true",
        help="rewrite follow-up questions to stand alone, with the model that writes answers",
    )


def _compare(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser("compare", help="compare chunking strategies on a book")
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
    command.add_argument("--output", type=Path, metavar="FILE", help="write the rows as JSON")
    command.add_argument("--svg", type=Path, metavar="FILE", help="draw the rows")
    command.set_defaults(run="comparing.compare")


def _index(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    listing = commands.add_parser("books", help="list the indexed books")
    json_option(listing)
    listing.set_defaults(run="index_commands.listing")

    remove = commands.add_parser("remove", help="remove a book from the index")
    remove.add_argument("book", type=BookId, metavar="BOOK", help=_BOOK)
    json_option(remove)
    remove.add_argument("--yes", action="store_true", help="do not ask on a terminal")
    remove.set_defaults(run="index_commands.remove")

    rollback = commands.add_parser("rollback", help="go back to a book's previous generation")
    rollback.add_argument("book", type=BookId, metavar="BOOK", help=_BOOK)
    json_option(rollback)
    rollback.set_defaults(run="index_commands.rollback")


def _upkeep(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    verify = commands.add_parser("verify", help="check the index, the ledgers and the cache")
    verify.add_argument(
        "books", type=BookId, metavar="BOOK", nargs="*", help="all when none is named"
    )
    verify.add_argument(
        "--repair",
        action="store_true",
        help="go back from a damaged generation to the previous one",
    )
    json_option(verify)
    verify.set_defaults(run="index_commands.verify")

    migrate = commands.add_parser("migrate", help="copy an index to QDRANT_URL's server")
    migrate.add_argument(
        "--from",
        dest="source",
        choices=("embedded", "collections"),
        default="embedded",
        help="the embedded index, or collections per book on the server (older versions)",
    )
    migrate.add_argument(
        "books", type=BookId, metavar="BOOK", nargs="*", help="all when none is named"
    )
    migrate.add_argument("--quiet", action="store_true", help="no progress on stderr")
    json_option(migrate)
    migrate.set_defaults(run="index_commands.migrate")


def _backup(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    backup = commands.add_parser("backup", help="write all books and local state into one file")
    backup.add_argument(
        "file", type=Path, metavar="FILE", help="the backup; it appears when complete"
    )
    backup.add_argument("--force", action="store_true", help="replace an existing file")
    backup.add_argument("--quiet", action="store_true", help="no progress on stderr")
    json_option(backup)
    backup.set_defaults(run="backup_commands.backup")

    restore = commands.add_parser("restore", help="restore books and local state from a backup")
    restore.add_argument("file", type=Path, metavar="FILE", help="a file written by `backup`")
    restore.add_argument(
        "books",
        type=BookId,
        metavar="BOOK",
        nargs="*",
        help="restore only these books (default: all books and missing local state)",
    )
    restore.add_argument("--yes", action="store_true", help="replace indexed books without asking")
    restore.add_argument("--quiet", action="store_true", help="no progress on stderr")
    json_option(restore)
    restore.set_defaults(run="backup_commands.restore")


def _links(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    links = commands.add_parser("links", help="print every paragraph's deep link as JSON lines")
    links.add_argument("book", metavar="BOOK", help="an indexed book, or a book's folder")
    links.add_argument("--site", type=one_of(Site), choices=Site, help="for a folder (detected)")
    links.add_argument(
        "--base-url",
        type=checked_base_url,
        default="",
        metavar="URL",
        help="for a folder: where the site is served",
    )
    links.add_argument(
        "--check",
        metavar="SITE",
        help="a site's URL or folder: print the broken links; exit code 1 if any",
    )
    links.add_argument(
        "--json", action="store_true", help="print misses as JSON; without --check always"
    )
    links.set_defaults(run="link_commands.links")


def _llms(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    llms = commands.add_parser("llms", help="print a book's llms.txt, for the root of its site")
    llms.add_argument("book", type=BookId, metavar="BOOK", help=_BOOK)
    llms.add_argument(
        "--full",
        action="store_true",
        help="print llms-full.txt instead, with the book's whole text",
    )
    llms.set_defaults(run="index_commands.llms")


def _ledger(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    ledger = commands.add_parser("ledger", help="export or import a book's paragraph ids")
    actions = ledger.add_subparsers(metavar="ACTION", required=True)
    export = actions.add_parser("export", help="write the ids as JSON lines")
    export.add_argument("book", type=BookId, metavar="BOOK", help=_BOOK)
    export.add_argument("file", metavar="FILE", nargs="?", type=Path, help="stdout when left out")
    export.set_defaults(run="index_commands.export_ledger")
    load = actions.add_parser("import", help="import exported ids")
    load.add_argument("book", type=BookId, metavar="BOOK", help=_BOOK)
    load.add_argument("file", metavar="FILE", type=Path, help="a file written by `ledger export`")
    load.set_defaults(run="index_commands.import_ledger")


def _edition(text: str) -> Edition:
    edition = Edition.named(text, "")
    edition.id_of(BookId("book"))  # InputError if it has no letter or digit
    return edition
