"""Options and arguments that several commands have."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from typer import Argument, Option

from app.domain.book_id import BookId
from app.domain.chunking.config import StrategyName
from app.domain.document import Site as SiteName

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
        metavar="PATH", help="A folder of Markdown or built pages, one file, or a site's address."
    ),
]
Strategy: TypeAlias = Annotated[
    StrategyName | None, Option("--strategy", help="Chunking strategy (structure).")
]
Port: TypeAlias = Annotated[
    int | None, Option("--port", min=1, max=65_535, help="Port to listen on (RAG_PORT).")
]
