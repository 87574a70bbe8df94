"""Folders without a site generator's configuration: Jekyll, doc-builder, or just files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from markdown_it.common.utils import unescapeAll
from markdown_it.rules_block import StateBlock
from markdown_it.rules_block.table import escapedSplit
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from app.adapters.markdown.book_files import BookFiles, folder_of
from app.adapters.markdown.folder_files import PAGE_SUFFIXES, page_files, walk
from app.adapters.markdown.parser.anchors import BRACKET_ID, COMMENT_ID, GITHUB, JUPYTER
from app.adapters.markdown.parser.block_rules import (
    attribute_list,
    comment_expression,
    first_of,
    mark_rule,
)
from app.adapters.markdown.parser.dialect import Dialect, InlineRule
from app.adapters.markdown.parser.drafts import MarkupClass
from app.adapters.markdown.parser.inline_rules import BRACKETED_SPAN, TEMPLATE_TAG
from app.adapters.markdown.plain.hints import LANGUAGE_FOLDER, hints
from app.adapters.markdown.plain.jekyll import Permalinks
from app.adapters.markdown.site_map import (
    SiteGenerator,
    SitePage,
    SiteSettings,
    TableOfContents,
    TocEntry,
    content_folder,
    join_url,
)
from app.adapters.markdown.source import UNREADABLE, load_yaml, yaml_table
from app.adapters.markdown.summary_file import summary_entries
from app.domain.document import Site, SourceWarning

_SUMMARIES = ("summary.md", "src/summary.md", "docs/summary.md")
_OTHER_PAGES = frozenset({".adoc", ".qmd", ".rmd", ".rst"})
_VALUE = r"\{\{(?:[^{}\n]|\}(?!\}))*+\}\}"
"""`{{ site.baseurl }}`."""
_TARGET = re.compile(
    rf"(?=[^\s()]*\{{[{{%])(?:{TEMPLATE_TAG}|{_VALUE}|[^\s()\\<>&{{}}\x00-\x20\x7f])++(?=[) \n]|$)"
)
"""The target of a link whose path a template fills."""
_TEMPLATE = re.compile(
    rf"(?:(?:\{{[#:/@][a-z][^}}\n]*\}}|\{{\{{#[^}}\n]*+\}}\}}|{TEMPLATE_TAG})[ \t]*+)++$",
    re.MULTILINE,
)
"""A line of tags only; also `{#if}` and `{{#name}}`."""
_INCLUDE = re.compile(
    r"\{%-?[ \t]*(?P<name>include)[ \t]+[\"'](?P<argument>[^\"'\s]+)[\"'][ \t]*-?%\}[ \t]*$",
    re.MULTILINE,
)
"""GitBook's `{% include "./file.md" %}`."""
_END_OF_BLOCK = re.compile(r"\^(?=[ \t]*$)", re.MULTILINE)
"""kramdown's `^` on a line of its own."""
_ROW = re.compile(r"\|(?P<cells>[^\n]*[^\\\n])\|[ \t]*$", re.MULTILINE)
_RULE = re.compile(r"[-|:+= \t]+")
_LEAST_ROWS = 2
_SPACED_IMAGE = re.compile(
    rf"!\[(?P<alt>[^\[\]]*+)\]\((?P<target>(?:{_VALUE}|[^()<>\"\n])*+)"
    r"(?:\"(?P<title>(?:[^\"\\]|\\.)*+)\"[ \t]*+)?\)",
    re.DOTALL,
)


def _table_without_header(
    state: StateBlock, _position: int, start: int, end: int, silent: bool
) -> bool:
    """Read kramdown's table of rows in pipes without a rule below the first; two rows or more.

    It does not end a paragraph.
    """
    if silent:
        return False
    line = start
    while line < end and (row := _ROW.match(state.src, state.bMarks[line] + state.tShift[line])):
        line += 1
    if line - start < _LEAST_ROWS or (line < end and not _ends_table(state, line)):
        return False
    state.push("table_open", "table", 1).map = [start, line]
    state.push("tbody_open", "tbody", 1)
    for at in range(start, line):
        row = _ROW.match(state.src, state.bMarks[at] + state.tShift[at])
        if row is not None and not _RULE.fullmatch(row["cells"]):
            _push_row(state, at, row["cells"])
    state.push("tbody_close", "tbody", -1)
    state.push("table_close", "table", -1)
    state.line = line
    return True


def _ends_table(state: StateBlock, line: int) -> bool:
    begin = state.bMarks[line] + state.tShift[line]
    return state.isEmpty(line) or state.src.startswith("{:", begin)


def _push_row(state: StateBlock, line: int, cells: str) -> None:
    state.push("tr_open", "tr", 1).map = [line, line + 1]
    for cell in escapedSplit(cells):
        state.push("td_open", "td", 1)
        inline = state.push("inline", "", 0)
        inline.map, inline.content, inline.children = [line, line + 1], cell.strip(), []
        state.push("td_close", "td", -1)
    state.push("tr_close", "tr", -1)


def _spaced_image(state: StateInline, silent: bool) -> bool:
    """Read kramdown's image whose path has blanks."""
    match = _SPACED_IMAGE.match(state.src, state.pos, state.posMax)
    if match is None or not PurePosixPath(match["target"].strip()).suffix:
        return False
    if not silent:
        token = state.push("image", "img", 0)
        token.attrs = {"src": match["target"].strip(), "title": match["title"] or ""}
        token.children = [Token("text", "", 0, content=unescapeAll(match["alt"]))]
    state.pos = match.end()
    return True


_BRACES = first_of(
    comment_expression,
    mark_rule(_INCLUDE, MarkupClass.INCLUDE),
    mark_rule(_TEMPLATE, MarkupClass.DIRECTIVE),
    attribute_list,
)
DIALECT = Dialect(
    attribute_lists=True,
    inline_attributes=True,
    comment_expressions=True,
    template_tags=True,
    directives=True,
    math=True,
    definition_lists=True,
    marked_terms=True,
    heading_ids=(COMMENT_ID, BRACKET_ID),
    block_rules=(
        ("{", _BRACES),
        ("^", mark_rule(_END_OF_BLOCK, MarkupClass.DIRECTIVE)),
        ("|", _table_without_header),
    ),
    link_target=_TARGET,
    inline_rules=(
        InlineRule("spaced_image", "!", _spaced_image, before="autolink"),
        BRACKETED_SPAN,
    ),
)


def read_settings(
    book_files: BookFiles, base_url: str, warnings: list[SourceWarning]
) -> SiteSettings:
    """Read `_config.yml` and the table of contents: `_toctree.yml` or `SUMMARY.md`, if any."""
    config = yaml_table(book_files.text("_config.yml") or "", "_config.yml")
    title = str(config.get("title") or "")
    files = sorted(walk(book_files))
    warnings += _not_read(files)
    toctrees = [file for file in files if file.rpartition("/")[2] == "_toctree.yml"]
    if toctrees:
        return _toctree_settings(book_files, base_url, title, toctrees, warnings)
    contents = _contents(book_files)
    folder = ""
    if contents is None:
        warnings += hints(book_files, files)
        folder = content_folder(book_files)
    return SiteSettings(
        base_url,
        title,
        str(config.get("lang") or config.get("locale") or ""),
        folder,
        _content_path if folder else Permalinks(book_files, config).path,
        contents,
        suffixes=PAGE_SUFFIXES,
    )


def _toctree_settings(
    book_files: BookFiles,
    base_url: str,
    title: str,
    toctrees: list[str],
    warnings: list[SourceWarning],
) -> SiteSettings:
    toctree, language = _chosen(toctrees)
    pages = _by_toctree(book_files, toctree, join_url(base_url, language), warnings)
    return SiteSettings(
        base_url, title, language, path_of=Permalinks(book_files, {}).path, pages=pages
    )


def _not_read(files: Iterable[str]) -> Iterator[SourceWarning]:
    """Yield a warning for each kind of files that other generators make pages of."""
    found: dict[str, list[str]] = {}
    for file in files:
        suffix = PurePosixPath(file).suffix
        if suffix.lower() in _OTHER_PAGES:
            found.setdefault(suffix, []).append(file)
    for suffix, several in found.items():
        message = f"{suffix} files are not read: {len(several):,} left out"
        yield SourceWarning(message, several[0], 1)


def _find_config(book_files: BookFiles) -> str:
    """Return the file or folder that makes this the top of a site, which determines its URLs."""
    named = ("_config.yml", "_toctree.yml", "SUMMARY.md", "src/SUMMARY.md", "docs/SUMMARY.md")
    return book_files.first("", named) or content_folder(book_files)


def _content_path(file: str) -> str:
    """Return a page's path, without suffix, in a site built by a JavaScript framework."""
    path = PurePosixPath(file)
    return folder_of(file) if path.stem == "index" else str(path.with_suffix(""))


def _by_toctree(
    book_files: BookFiles, toctree: str, address: str, warnings: list[SourceWarning]
) -> list[SitePage]:
    """Return the pages of doc-builder's `_toctree.yml`; `address` is their common URL."""
    try:
        loaded = load_yaml(book_files.settings(toctree), toctree)
    except UNREADABLE as error:
        warnings.append(SourceWarning(f"table of contents is not YAML: {error}", toctree, 1))
        return []
    pages: list[SitePage] = []
    for entry, chapter in _toctree_entries(loaded, ""):
        names = (entry.target + suffix for suffix in (".mdx", ".md"))
        file = book_files.first(folder_of(toctree), names)
        if file is None:
            message = f"listed in the table of contents but missing: {entry.target}"
            warnings.append(SourceWarning(message, toctree, 1))
        else:
            url = join_url(address, entry.target)
            pages.append(SitePage(file, url, entry.title, chapter))
    return pages


def _contents(book_files: BookFiles) -> TableOfContents | None:
    for file in page_files(book_files):
        if file.lower() in _SUMMARIES:
            entries = summary_entries(book_files.settings(file))
            return TableOfContents(entries, folder_of(file), file)
    return None


def _chosen(toctrees: list[str]) -> tuple[str, str]:
    """Return a table of contents and its language's folder; prefer English, else the first."""
    names = {PurePosixPath(toctree).parent.name: toctree for toctree in toctrees}
    languages = [name for name in names if LANGUAGE_FOLDER.match(name)]
    if languages:
        name = "en" if "en" in languages else languages[0]
        return names[name], name
    return next(iter(names.values())), ""


def _toctree_entries(items: object, chapter: str) -> list[tuple[TocEntry, str]]:
    found: list[tuple[TocEntry, str]] = []
    for item in items if isinstance(items, list) else []:
        if not isinstance(item, dict):
            continue
        title = str(item.get("title") or "")
        if item.get("local"):
            entry = TocEntry(str(item["local"]), title, 0)
            found.append((entry, chapter or title))
        found.extend(_toctree_entries(item.get("sections"), chapter or title))
    return found


GENERATOR = SiteGenerator(
    Site.PLAIN, DIALECT, GITHUB, _find_config, read_settings, notebook_style=JUPYTER
)
