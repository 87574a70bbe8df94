"""The commands and their options, in one table."""

from __future__ import annotations

import argparse
from importlib import metadata
from pathlib import Path

from app.domain.book_id import BookId
from app.domain.chunking import StrategyName
from app.domain.document import BlockKind, Site
from app.domain.retrieval.query import SearchMode
from app.domain.urls import checked_base_url

_COMPARED = ("fixed", "recursive", "sentence", "auto", "semantic", "structure", "late")


def parser() -> argparse.ArgumentParser:
    root = argparse.ArgumentParser(
        prog="textbook-rag", description="Answers from a textbook, cited at the very paragraph."
    )
    version = f"textbook-rag {metadata.version('textbook-rag')}"
    root.add_argument("--version", action="version", version=version)
    commands = root.add_subparsers(metavar="COMMAND", required=True)
    _reading(commands)
    _asking(commands)
    _measuring(commands)
    _compare(commands)
    _index(commands)
    _links(commands)
    _llms(commands)
    _ledger(commands)
    _keys(commands)
    _question_log(commands)
    _serving(commands)
    return root


def _reading(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    ingest = commands.add_parser("ingest", help="bring the index up to date with a book's folder")
    _source(ingest, "BOOK_DIR")
    ingest.add_argument(
        "--book", type=BookId, metavar="ID", help="the book's name in the index (folder's name)"
    )
    ingest.add_argument("--strategy", metavar="NAME", help="chunking strategy (structure)")
    ingest.add_argument("--exclude-kinds", type=_kinds, default=frozenset(), metavar="KIND,...")
    ingest.add_argument(
        "--dry-run", action="store_true", help="print what would change and what it costs"
    )
    ingest.add_argument(
        "--force", action="store_true", help="write the index anew, though nothing changed"
    )
    ingest.add_argument("--quiet", action="store_true", help="no progress on stderr")
    ingest.set_defaults(run="index_commands.ingest")

    blocks = commands.add_parser("blocks", help="print a book's blocks, one JSON object a line")
    _source(blocks, "PATH")
    blocks.add_argument(
        "--coverage", action="store_true", help="last line: share of source covered"
    )
    blocks.set_defaults(run="reading_commands.blocks")

    chunks = commands.add_parser("chunks", help="print a book's chunks, one JSON object a line")
    _source(chunks, "PATH")
    chunks.add_argument("--strategy", metavar="NAME")
    chunks.add_argument("--exclude-kinds", type=_kinds, default=frozenset(), metavar="KIND,...")
    chunks.add_argument("--report", action="store_true", help="print the guarantee report instead")
    chunks.set_defaults(run="reading_commands.chunks")


def _asking(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    search = commands.add_parser("search", help="find passages")
    _question(search)
    search.add_argument("--mode", type=SearchMode, default=SearchMode.HYBRID, choices=SearchMode)
    search.set_defaults(run="questions.search")

    ask = commands.add_parser("ask", help="answer a question with citations")
    _question(ask)
    ask.set_defaults(k=8)  # refusal and extraction are calibrated with 8
    ask.set_defaults(run="questions.ask")


def _measuring(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser("eval", help="measure on questions with known answers")
    command.add_argument("questions", type=Path, nargs="?", metavar="QUESTIONS.jsonl")
    command.add_argument("--book", type=BookId, metavar="ID", help="ask this book only")
    command.add_argument(
        "--answers", action="store_true", help="measure citations and refusals, not retrieval"
    )
    command.add_argument(
        "--helpful",
        action="store_true",
        help="measure what answers show, on questions with key facts about their own books",
    )
    command.add_argument(
        "--half",
        choices=("development", "final"),
        help="with --helpful or --calibrate: ask this half of the questions only",
    )
    command.add_argument(
        "--calibrate",
        action="store_true",
        help="print the three answers over the thresholds, and the thresholds to set",
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
        help="compare two outputs of --json instead, with paired bootstrap intervals",
    )
    command.set_defaults(run="evaluating.evaluate")


def _search_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--k", type=_positive, help="chunks to retrieve (5; for answers 8)")
    command.add_argument("--mode", type=SearchMode, default=SearchMode.HYBRID, choices=SearchMode)
    command.add_argument("--rerank", action="store_true", help="by Cohere, when a key is set")
    command.add_argument(
        "--rewrite",
        action="store_true",
        help="let the model that writes answers make the questions of conversations stand alone",
    )


def _compare(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser("compare", help="compare chunking strategies on a book")
    _source(command, "BOOK_DIR")
    command.add_argument("questions", type=Path, metavar="QUESTIONS.jsonl")
    command.add_argument(
        "--strategies",
        nargs="+",
        metavar="NAME",
        default=[name for name in _COMPARED if name != StrategyName.LATE],
        help=f"of {', '.join(_COMPARED)}; by default all but late, which needs RAG_EMBEDDER=minilm",
    )
    command.add_argument("--exclude-kinds", type=_kinds, default=frozenset(), metavar="KIND,...")
    command.add_argument("--output", type=Path, metavar="FILE", help="write the rows as JSON")
    command.add_argument("--svg", type=Path, metavar="FILE", help="draw the rows")
    command.set_defaults(run="comparing.compare")


def _index(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    listing = commands.add_parser("books", help="list the indexed books")
    listing.add_argument("--json", action="store_true")
    listing.set_defaults(run="index_commands.listing")

    remove = commands.add_parser("remove", help="remove a book from the index")
    remove.add_argument("book", type=BookId, metavar="BOOK")
    remove.add_argument("--json", action="store_true")
    remove.set_defaults(run="index_commands.remove")

    rollback = commands.add_parser("rollback", help="go back to a book's previous generation")
    rollback.add_argument("book", type=BookId, metavar="BOOK")
    rollback.add_argument("--json", action="store_true")
    rollback.set_defaults(run="index_commands.rollback")

    verify = commands.add_parser("verify", help="check the index, the ledgers and the cache")
    verify.add_argument(
        "books", type=BookId, metavar="BOOK", nargs="*", help="all when none is named"
    )
    verify.add_argument(
        "--repair",
        action="store_true",
        help="switch readers from a damaged generation to the previous one",
    )
    verify.add_argument("--json", action="store_true")
    verify.set_defaults(run="index_commands.verify")

    migrate = commands.add_parser("migrate", help="copy the embedded index to QDRANT_URL's server")
    migrate.add_argument(
        "books", type=BookId, metavar="BOOK", nargs="*", help="all when none is named"
    )
    migrate.add_argument("--quiet", action="store_true", help="no progress on stderr")
    migrate.add_argument("--json", action="store_true")
    migrate.set_defaults(run="index_commands.migrate")


def _links(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    links = commands.add_parser("links", help="print every paragraph's deep link, a JSON line each")
    links.add_argument("book", metavar="BOOK", help="an indexed book, or a book's folder")
    links.add_argument("--site", type=Site, choices=Site)
    links.add_argument("--base-url", type=checked_base_url, default="", metavar="URL")
    links.add_argument(
        "--check",
        metavar="SITE",
        help="a site's URL or folder: print the links that do not land there, and end with 1",
    )
    links.add_argument("--json", action="store_true", help="without --check the output always is")
    links.set_defaults(run="link_commands.links")


def _llms(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    llms = commands.add_parser("llms", help="print a book's llms.txt, for the root of its site")
    llms.add_argument("book", type=BookId, metavar="BOOK")
    llms.add_argument(
        "--full", action="store_true", help="print llms-full.txt instead: all of the book's text"
    )
    llms.set_defaults(run="index_commands.llms")


def _serving(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    serve = commands.add_parser("serve", help="serve the API and a page that lists the books")
    serve.add_argument("--host")
    serve.add_argument("--port", type=int)
    serve.add_argument(
        "--open", action="store_true", help="let everybody ask without a key (RAG_OPEN)"
    )
    serve.set_defaults(run="serving.serve")

    mcp = commands.add_parser(
        "mcp", help="serve the books to an agent by the Model Context Protocol, on stdin and stdout"
    )
    mcp.set_defaults(run="serving.mcp")

    demo = commands.add_parser("demo", help="ingest the sample book, then serve it")
    demo.add_argument("--no-serve", action="store_true")
    demo.set_defaults(run="serving.demo")


def _ledger(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    ledger = commands.add_parser("ledger", help="export or import a book's paragraph ids")
    actions = ledger.add_subparsers(metavar="ACTION", required=True)
    export = actions.add_parser("export", help="write the ids as JSON lines")
    export.add_argument("book", type=BookId, metavar="BOOK")
    export.add_argument("file", metavar="FILE", nargs="?", type=Path, help="stdout when left out")
    export.set_defaults(run="index_commands.export_ledger")
    load = actions.add_parser("import", help="import exported ids")
    load.add_argument("book", type=BookId, metavar="BOOK")
    load.add_argument("file", metavar="FILE", type=Path)
    load.set_defaults(run="index_commands.import_ledger")


def _keys(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    keys = commands.add_parser("keys", help="add, list or revoke keys that may use the API")
    actions = keys.add_subparsers(metavar="ACTION", required=True)
    add = actions.add_parser("add", help="make a key and print it, once")
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
    add.add_argument("--json", action="store_true", help="print the key and its facts as JSON")
    add.set_defaults(run="key_commands.add")
    listing = actions.add_parser("list", help="list the keys by id")
    listing.add_argument("--json", action="store_true", help="print a JSON object a line")
    listing.set_defaults(run="key_commands.listing")
    revoke = actions.add_parser("revoke", help="make a key invalid")
    revoke.add_argument("id", metavar="ID", help="of the list")
    revoke.set_defaults(run="key_commands.revoke")


def _question_log(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    report = commands.add_parser("report", help="what readers ask a book, from the question log")
    report.add_argument("book", type=BookId, metavar="BOOK")
    report.add_argument(
        "--since", default="30d", metavar="TIME", help="30d, 12h, 4w or a date (30d)"
    )
    report.add_argument("--html", type=Path, metavar="FILE", help="write the report as a page")
    report.add_argument("--csv", type=Path, metavar="FILE", help="write the questions as a table")
    report.add_argument(
        "--gaps", type=Path, metavar="FILE.md", help="write what was not answered as issues"
    )
    report.add_argument("--json", action="store_true", help="print the report as JSON")
    report.add_argument(
        "--to-eval", action="store_true", help="print the questions as those of `eval` instead"
    )
    report.add_argument(
        "--answer",
        action="append",
        default=[],
        metavar="ID",
        help="with --to-eval: of this answer only; repeatable",
    )
    report.set_defaults(run="owner_commands.report")

    forget = commands.add_parser("forget", help="delete questions from the question log")
    forget.add_argument("--book", type=BookId, metavar="ID", help="of this book only")
    forget.add_argument("--before", default="", metavar="TIME", help="asked before: 30d or a date")
    forget.add_argument("--containing", default="", metavar="TEXT", help="with this text, any case")
    forget.add_argument(
        "--answer", action="append", default=[], metavar="ID", help="by answer_id; repeatable"
    )
    forget.add_argument("--all", action="store_true", help="all questions")
    forget.add_argument("--json", action="store_true", help="print the number as JSON")
    forget.set_defaults(run="owner_commands.forget")


def _source(command: argparse.ArgumentParser, name: str) -> None:
    command.add_argument("path", type=Path, metavar=name)
    command.add_argument("--site", type=Site, choices=Site, help="detected from the folder")
    command.add_argument(
        "--base-url",
        type=checked_base_url,
        default="",
        metavar="URL",
        help="where the site is served",
    )
    command.add_argument("--include-orphans", action="store_true")
    command.add_argument(
        "--skip-refused",
        action="store_true",
        help="leave out a file that holds more than the reading budget, with a warning; else stop",
    )
    command.add_argument("--json", action="store_true")


def _question(command: argparse.ArgumentParser) -> None:
    command.add_argument("question")
    command.add_argument(
        "--book",
        type=BookId,
        metavar="ID",
        action="append",
        default=[],
        help="ask this book only; repeatable",
    )
    command.add_argument("--k", type=_positive, default=5, help="chunks to retrieve")
    command.add_argument("--json", action="store_true")


def _positive(text: str) -> int:
    value = int(text)
    if not 1 <= value <= 100:
        message = "must be between 1 and 100"
        raise argparse.ArgumentTypeError(message)
    return value


def _kinds(text: str) -> frozenset[BlockKind]:
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
