"""Folders without a site generator's configuration: Jekyll, doc-builder, or just files."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from app.adapters.markdown.includes import Library, folder_of
from app.adapters.markdown.parser.anchors import GITHUB
from app.adapters.markdown.parser.markup import Dialect
from app.adapters.markdown.site_map import (
    Layout,
    Page,
    SiteGenerator,
    TocEntry,
    join_url,
    markdown_files,
    pages_of,
    walk,
)
from app.adapters.markdown.yaml_source import UNREADABLE, load_yaml
from app.domain.document import Site, SourceWarning

DIALECT = Dialect(
    kramdown=True,
    attribute_lists=True,
    foreign_ids=True,
    templates=True,
    directives=True,
    math=True,
    definition_lists=True,
)
STYLE = GITHUB
_LINK = re.compile(r"\[(?P<title>(?:[^\[\]\\]|\\.)*)\]\((?P<target>[^()\s]*)(?:\s+\"[^\"]*\")?\)")
_ITEM = re.compile(r"^(?P<indent>[ \t]*)(?:[-*+]|\d+[.)])?[ \t]*(?:\{:[^}]*\}[ \t]*)?(?P<rest>.*)$")
_LANGUAGE_FOLDER = re.compile(r"^[a-z]{2}(?:[-_][A-Za-z]{2,4})?$")


def open_plain(library: Library, base_url: str) -> Layout:
    """Read the folder by `SUMMARY.md` or `_toctree.yml` where there is one, else sorted paths."""
    files = markdown_files(library)
    config = _config(library)
    toctrees = sorted(file for file in walk(library) if file.rpartition("/")[2] == "_toctree.yml")
    warnings: list[SourceWarning] = []
    language = str(config.get("lang") or config.get("locale") or "").split("-")[0]
    title = str(config.get("title") or "")
    if toctrees:
        pages, language = _by_toctree(library, toctrees, base_url, warnings)
        toc_files: set[str] = set()
    else:
        summary = next((file for file in files if file.lower() in _SUMMARIES), "")
        toc_files = {summary} if summary else set()
        pretty = "permalink" in config and "pretty" in str(config["permalink"])
        pages = (
            _by_summary(library, summary, base_url, pretty, warnings)
            if summary
            else [Page(file, _url(base_url, file, pretty)) for file in files]
        )
    taken = {page.file for page in pages} | toc_files
    orphans = [Page(file, _url(base_url, file, False)) for file in files if file not in taken]
    return Layout(
        Site.PLAIN,
        DIALECT,
        STYLE,
        tuple(pages),
        tuple(orphans),
        title,
        base_url.rstrip("/"),
        language,
        tuple(warnings),
    )


_SUMMARIES = ("summary.md", "src/summary.md", "docs/summary.md")


def _config(library: Library) -> dict[str, object]:
    text = library.text("_config.yml") or ""
    try:
        loaded = load_yaml(text, "_config.yml")
    except UNREADABLE:
        return {}
    return loaded if isinstance(loaded, dict) else {}


def _url(base_url: str, file: str, pretty: bool) -> str:
    path = PurePosixPath(file)
    if path.stem.lower() in ("index", "readme"):
        folder = folder_of(file)
        return join_url(base_url, f"{folder}/" if folder else "")
    stem = str(path.with_suffix(""))
    return join_url(base_url, f"{stem}/" if pretty else f"{stem}.html")


def summary_entries(text: str) -> list[TocEntry]:
    """Read a SUMMARY.md: links by indentation, and headings or bare items as parts."""
    entries: list[TocEntry] = []
    for number, line in enumerate(text.splitlines(), 1):
        match = _ITEM.match(line)
        rest = match["rest"] if match else ""
        if not match or not rest:
            continue
        depth = len(match["indent"].expandtabs(4)) + 1
        link = _LINK.search(rest)
        if link:
            title = re.sub(r"\\(.)|[`*_]", r"\1", link["title"])
            entries.append(TocEntry(link["target"], title.strip(), depth, number))
        elif line.startswith("#"):
            part = line.lstrip("# ").strip()
            if number > 1 and part.lower() != "summary":
                entries.append(TocEntry("", part, 0, number))
        elif re.match(r"[ \t]*(?:[-*+]|\d+[.)])[ \t]", line):
            name = re.sub(r"[\[\]*_`]|\(\)", "", rest).strip()
            entries.append(TocEntry("", name, depth, number))
    return entries


def _by_summary(
    library: Library, summary: str, base_url: str, pretty: bool, warnings: list[SourceWarning]
) -> list[Page]:
    entries = summary_entries(library.settings(summary))
    return pages_of(entries, library, summary, lambda file: _url(base_url, file, pretty), warnings)


def _by_toctree(
    library: Library, toctrees: list[str], base_url: str, warnings: list[SourceWarning]
) -> tuple[list[Page], str]:
    """Read doc-builder's `_toctree.yml`; of several languages English, else the first."""
    names = {PurePosixPath(toctree).parent.name: toctree for toctree in toctrees}
    languages = [name for name in names if _LANGUAGE_FOLDER.match(name)]
    chosen = "en" if "en" in languages else languages[0] if languages else next(iter(names))
    toctree = names[chosen]
    language = chosen.split("-")[0].split("_")[0] if chosen in languages else ""
    folder = folder_of(toctree)
    try:
        loaded = load_yaml(library.settings(toctree), toctree)
    except UNREADABLE as error:
        warnings.append(SourceWarning(f"table of contents is no YAML: {error}", toctree, 1))
        return [], language
    pages: list[Page] = []
    for entry, chapter in _toctree_entries(loaded, ""):
        file = next(
            (
                found
                for suffix in (".mdx", ".md")
                if (found := library.locate(folder, entry.target + suffix))
            ),
            None,
        )
        if file is None:
            message = f"listed in the table of contents but missing: {entry.target}"
            warnings.append(SourceWarning(message, toctree, 1))
            continue
        path = f"{chosen}/{entry.target}" if chosen in languages else entry.target
        pages.append(Page(file, join_url(base_url, path), entry.title, chapter, language))
    return pages, language


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


GENERATOR = SiteGenerator(open_plain, lambda _: True, DIALECT, STYLE)
