"""mdBook: includes, hidden lines of code and anchors; `book.toml` and `SUMMARY.md`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from posixpath import normpath

from app.adapters.markdown.includes import IncludeStyle, Library, folder_of
from app.adapters.markdown.parser.anchors import SlugStyle
from app.adapters.markdown.parser.block_rules import attribute_list, first_of, mark_rule
from app.adapters.markdown.parser.dialect import Dialect
from app.adapters.markdown.parser.drafts import MarkupClass
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

_INCLUDE = re.compile(r"\\?\{\{[ \t]*#(?P<name>\w+)[ \t]+(?P<argument>[^}\n]*)\}\}[ \t]*$", re.M)
_PREPROCESSED = re.compile(r"\{\{%[^{}\n]*\}\}[ \t]*$", re.M)
"""A tag that the book's own preprocessor replaces, such as `{{%segment outline}}`."""
_HIDDEN = re.compile(r"^[ \t]*#(?:[ \t].*)?$")
_ESCAPED = re.compile(r"^([ \t]*)##", re.M)


def _without_hidden_lines(text: str, language: str) -> str:
    """Drop the hidden lines of Rust code, which begin with `# `."""
    if language != "rust" or "#" not in text:
        return text
    text = "\n".join(line for line in text.split("\n") if not _HIDDEN.match(line))
    return _ESCAPED.sub(r"\1#", text) if "##" in text else text


_BRACES = first_of(
    mark_rule(_PREPROCESSED, MarkupClass.DIRECTIVE),
    mark_rule(_INCLUDE, MarkupClass.INCLUDE),
    attribute_list,
)
DIALECT = Dialect(
    attribute_lists=True,
    math=True,
    block_rules=(("{", _BRACES),),
    visible_code=_without_hidden_lines,
    includes=IncludeStyle(
        begins="{{",
        directive=re.compile(
            r"(?P<escape>\\?)\{\{[ \t]*#(?:include|rustdoc_include|playground|playpen)"
            r"[ \t]+(?P<argument>(?:[^{}\n]|\{(?!\{))+)\}\}"
        ),
        keeps_unresolved=True,
    ),
)


def _unique_counted(base: str, used: dict[str, int]) -> str:
    slug, count = base, 0
    while slug in used:
        count = max(count, used[base]) + 1
        slug = f"{base}-{count}"
    used[base] = count if base in used else 0
    used.setdefault(slug, 0)
    return slug


def mdbook_slug(text: str) -> str:
    """As in mdBook's `normalize_id`: alphanumerics, `_` and `-` kept, each white space to `-`."""
    import regex  # noqa: PLC0415 - takes 30 ms

    kept = regex.sub(r"[^\p{Alphabetic}\p{Number}\s_-]", "", text.lower())
    return re.sub(r"\s", "-", kept) or "section"


STYLE = SlugStyle(mdbook_slug, _unique_counted, registers_explicit=True)


CONFIG = "book.toml"
_FOLDERS = ("book", "docs", "doc", "guide")
"""Folders of a repository in which its book may be."""


def _config_below(library: Library) -> str | None:
    return library.first("", (f"{folder}/{CONFIG}" for folder in _FOLDERS))


def read_settings(library: Library, base_url: str, warnings: list[SourceWarning]) -> SiteSettings:
    """Read `book.toml`. BookError if there is no SUMMARY.md."""
    file = library.locate("", CONFIG) or _config_below(library) or CONFIG
    folder = folder_of(file)
    text = library.text(file) or ""
    config = read_toml(text.encode(), file)
    book = table(config, "book")
    source = str(book.get("src") or "src")
    summary = library.first(folder, (f"{source}/SUMMARY.md", "SUMMARY.md"))
    if summary is None:
        missing = under(folder, f"{source}/SUMMARY.md")
        raise BookError("no SUMMARY.md: mdBook needs one as table of contents", missing)
    if not base_url:
        site_url = str(table(config, "output", "html").get("site-url") or "")
        base_url = _configured(site_url, file, text, warnings)
    folder = folder_of(summary)
    return SiteSettings(
        base_url,
        str(book.get("title") or ""),
        str(book.get("language") or ""),
        folder,
        _path,
        TableOfContents(summary_entries(library.settings(summary), numbered=True), folder, summary),
    )


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
    lambda library: library.locate("", CONFIG),
    read_settings,
    _link_files,
    find_config_below=_config_below,
)
