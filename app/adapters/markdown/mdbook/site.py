"""mdBook: `book.toml` and `SUMMARY.md`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from posixpath import normpath

from app.adapters.markdown.book_files import BookFiles, folder_of
from app.adapters.markdown.mdbook.syntax import DIALECT, PLAIN_STYLE, STYLE, VisibleCode
from app.adapters.markdown.parser.dialect import Dialect
from app.adapters.markdown.site_map import (
    SiteGenerator,
    SiteSettings,
    TableOfContents,
    configured_base,
    files_beside,
    table,
    under,
)
from app.adapters.markdown.summary_file import summary_entries
from app.domain.document import Site, SourceWarning
from app.domain.errors import BookError
from app.domain.reading_budget import read_toml
from app.domain.urls import encoded_path

CONFIG = "book.toml"
_FOLDERS = ("book", "docs", "doc", "guide")
"""Folders of a repository in which its book may be."""


def _config_below(book_files: BookFiles) -> str | None:
    return next(
        (file for file in _configs_below(book_files) if _has_summary(book_files, file)), None
    )


def configs_without_summary(book_files: BookFiles) -> Iterator[str]:
    """Yield each `book.toml` below the root whose book has no SUMMARY.md."""
    return (file for file in _configs_below(book_files) if not _has_summary(book_files, file))


def _configs_below(book_files: BookFiles) -> Iterator[str]:
    files = (f"{folder}/{CONFIG}" for folder in _FOLDERS)
    return (file for file in files if book_files.locate("", file))


def _has_summary(book_files: BookFiles, file: str) -> bool:
    config = read_toml((book_files.text(file) or "").encode(), file)
    return book_files.first("", _summaries(config, file)) is not None


def _summaries(config: dict[str, object], file: str) -> tuple[str, str]:
    """Return where the table of contents of the book that a file configures may be."""
    folder, source = folder_of(file), table(config, "book").get("src") or "src"
    return under(folder, f"{source}/SUMMARY.md"), under(folder, "SUMMARY.md")


def read_settings(
    book_files: BookFiles, base_url: str, warnings: list[SourceWarning]
) -> SiteSettings:
    """Read `book.toml`. BookError if there is no SUMMARY.md."""
    file = book_files.locate("", CONFIG) or _config_below(book_files) or CONFIG
    text = book_files.text(file) or ""
    config = read_toml(text.encode(), file)
    book = table(config, "book")
    summaries = _summaries(config, file)
    summary = book_files.first("", summaries)
    if summary is None:
        raise BookError("no SUMMARY.md: mdBook needs one as table of contents", summaries[0])
    html = table(config, "output", "html")
    site_url = str(html.get("site-url") or "")
    folder = folder_of(summary)
    return SiteSettings(
        base_url or _configured(site_url, file, text, warnings),
        str(book.get("title") or ""),
        str(book.get("language") or ""),
        folder,
        _path,
        TableOfContents(
            summary_entries(book_files.settings(summary), numbered=True), folder, summary
        ),
        dialect=_dialect(html),
        style=PLAIN_STYLE if html.get("smart-punctuation") is False else STYLE,
    )


def _dialect(html: dict[str, object]) -> Dialect:
    prefixes = ((name, str(prefix)) for name, prefix in table(html, "code", "hidelines").items())
    has_lists = html.get("definition-lists") is not False
    return replace(DIALECT, definition_lists=has_lists, visible_code=VisibleCode(tuple(prefixes)))


def _configured(site_url: str, file: str, text: str, warnings: list[SourceWarning]) -> str:
    """Return the URL or path in the configuration, without a slash at its end."""
    if ":" in site_url:
        return configured_base(site_url, file, text, warnings).rstrip("/")
    return encoded_path(f"/{site_url.strip('/')}".rstrip("/"))


def _path(file: str) -> str:
    path = PurePosixPath(file)
    name = "index" if path.stem.lower() == "readme" else path.stem
    return str(path.with_name(f"{name}.html"))


def _link_files(path: str, folder: str, root: str) -> Sequence[str]:
    """Links may name HTML pages. Paths out of the book lead to other books: not checked."""
    target = normpath(f"{folder}/{path}")
    if root and not target.startswith(f"{root}/"):
        return []
    if not path.endswith(".html"):
        return files_beside(path, folder, root)
    stem = target.removesuffix(".html")
    return [f"{stem}.md", f"{stem.removesuffix('index')}README.md"]


GENERATOR = SiteGenerator(
    Site.MDBOOK,
    DIALECT,
    STYLE,
    lambda book_files: book_files.locate("", CONFIG),
    read_settings,
    _link_files,
    find_config_below=_config_below,
)
