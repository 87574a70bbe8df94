"""Options and arguments that several commands have."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from app.domain.book_id import BookId
from app.domain.document import Site as SiteName

Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")]
Yes: TypeAlias = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
Question: TypeAlias = Annotated[str, typer.Argument(metavar="QUESTION", help="In any language.")]
Books: TypeAlias = Annotated[
    list[BookId] | None,
    typer.Option("--book", parser=BookId, metavar="ID", help="Ask only this book; repeatable."),
]
IndexedBook: TypeAlias = Annotated[
    BookId, typer.Argument(parser=BookId, metavar="BOOK", help="Its name in the index.")
]
Site: TypeAlias = Annotated[
    SiteName | None, typer.Option("--site", help="The site's generator, if it is not detected.")
]
Source: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="PATH", help="A folder of Markdown or built pages, one file, or a site's address."
    ),
]
Strategy: TypeAlias = Annotated[
    str, typer.Option("--strategy", metavar="NAME", help="Chunking strategy (structure).")
]
Port: TypeAlias = Annotated[
    int | None, typer.Option("--port", min=1, max=65_535, help="Port to listen on (RAG_PORT).")
]
