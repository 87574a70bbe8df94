"""mdBook: `book.toml` and `SUMMARY.md`."""

from __future__ import annotations

from pathlib import PurePosixPath

from app.adapters.markdown.includes import Library, folder_of
from app.adapters.markdown.parser.anchors import MDBOOK
from app.adapters.markdown.parser.markup import Dialect
from app.adapters.markdown.plain.site import summary_entries
from app.adapters.markdown.site_map import (
    Layout,
    Page,
    SiteGenerator,
    configured_base,
    join_url,
    markdown_files,
    pages_of,
)
from app.domain.document import Site, SourceWarning
from app.domain.errors import BookError
from app.domain.reading_budget import read_toml

DIALECT = Dialect(mdbook=True, attribute_lists=True, math=True)
STYLE = MDBOOK


def open_mdbook(library: Library, base_url: str) -> Layout:
    """Read the book that `book.toml` describes."""
    config = _config(library)
    book = _table(config, "book")
    source = str(book.get("src") or "src")
    html = _table(_table(config, "output"), "html")
    site_url = str(html.get("site-url") or "")
    warnings: list[SourceWarning] = []
    base = base_url
    if not base_url and ":" in site_url:  # it may be a path alone
        text = library.text("book.toml") or ""
        base = configured_base(site_url, "book.toml", text, warnings)
    summary = library.locate(source, "SUMMARY.md") or library.locate("", "SUMMARY.md")
    if summary is None:
        raise BookError(
            "no SUMMARY.md: mdBook needs one as table of contents", f"{source}/SUMMARY.md"
        )
    folder = folder_of(summary)

    def url_of(file: str) -> str:
        path = PurePosixPath(file[len(folder) + 1 :] if folder else file)
        name = "index" if path.stem.lower() == "readme" else path.stem
        return join_url(base, str(path.with_name(f"{name}.html")))

    entries = summary_entries(library.settings(summary))
    pages = pages_of(entries, library, summary, url_of, warnings)
    taken = {page.file for page in pages} | {summary}
    orphans = [
        Page(file, url_of(file)) for file in markdown_files(library, folder) if file not in taken
    ]
    return Layout(
        Site.MDBOOK,
        DIALECT,
        STYLE,
        tuple(pages),
        tuple(orphans),
        str(book.get("title") or ""),
        base.rstrip("/"),
        str(book.get("language") or "").split("-")[0],
        tuple(warnings),
        pages_root=folder,
    )


def _config(library: Library) -> dict[str, object]:
    text = library.text("book.toml")
    return {} if text is None else read_toml(text.encode(), "book.toml")


def _table(config: dict[str, object], name: str) -> dict[str, object]:
    value = config.get(name)
    return value if isinstance(value, dict) else {}


GENERATOR = SiteGenerator(
    open_mdbook, lambda library: library.locate("", "book.toml") is not None, DIALECT, STYLE
)
