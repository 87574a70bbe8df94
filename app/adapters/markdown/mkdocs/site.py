"""MkDocs: `mkdocs.yml`, its nav, and pretty URLs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePosixPath
from posixpath import normpath

from markdown_it.common.utils import normalizeReference

from app.adapters.markdown.includes import SNIPPETS, Library, TextIncludes, folder_of
from app.adapters.markdown.mkdocs.block_rules import BLOCK_RULES
from app.adapters.markdown.parser.anchors import MKDOCS, PYMDOWNX
from app.adapters.markdown.parser.inline_extensions import INLINE_EXTENSIONS
from app.adapters.markdown.parser.markup import Dialect
from app.adapters.markdown.site_map import (
    Layout,
    Page,
    SiteGenerator,
    TocEntry,
    configured_base,
    join_url,
    markdown_files,
    pages_of,
)
from app.adapters.markdown.yaml_source import LOADER, UNREADABLE, load_yaml
from app.domain.document import Site, SourceWarning
from app.domain.errors import BookError

DIALECT = Dialect(
    mkdocs=True,
    attribute_lists=True,
    math=True,
    definition_lists=True,
    block_rules=tuple(BLOCK_RULES.items()),
)
STYLE = MKDOCS
CONFIG_NAMES = ("mkdocs.yml", "mkdocs.yaml")


class _Loader(LOADER):  # type: ignore[misc, valid-type]
    """Reads `!!python/name:...` and `!ENV` as nothing instead of failing."""


_Loader.add_multi_constructor("", lambda _loader, _suffix, _node: None)


def open_mkdocs(library: Library, base_url: str) -> Layout:
    """Read the site that `mkdocs.yml` describes."""
    name = next((name for name in CONFIG_NAMES if library.locate("", name)), "")
    text = library.settings(name) if name else ""
    config = _load(text, name)
    docs = _folder(config.get("docs_dir") or "docs")
    if not library.has_folder(docs):
        docs = ""
    warnings: list[SourceWarning] = []
    base = base_url or configured_base(config.get("site_url"), name, text, warnings)
    pretty = config.get("use_directory_urls") is not False
    files = markdown_files(library, docs)

    def page_url(file: str) -> str:
        return join_url(base, _path(file[len(docs) + 1 :] if docs else file, pretty))

    extensions = _extensions(config)
    snippets = extensions.get("snippets", {})
    nav = config.get("nav")
    if isinstance(nav, list):
        entries = list(_nav_entries(nav, 1, text))
        toc = f"{docs}/{name}" if docs else name
        pages = pages_of(entries, library, toc, page_url, warnings, shown=name)
    else:
        pages = [Page(file, page_url(file)) for file in sorted(files, key=_index_first)]
    taken = {page.file for page in pages}
    return Layout(
        Site.MKDOCS,
        replace(DIALECT, extensions=frozenset(extensions) & INLINE_EXTENSIONS),
        PYMDOWNX if re.search(r"slugify:(?:(?!slugify:).)*pymdownx", text) else STYLE,
        tuple(pages),
        tuple(Page(file, page_url(file)) for file in files if file not in taken),
        str(config.get("site_name") or ""),
        base.rstrip("/"),
        _language(config),
        tuple(warnings),
        pages_root=docs,
        snippet_bases=tuple(map(_folder, _names(snippets.get("base_path")))) or ("",),
        appended=_names(snippets.get("auto_append")),
    )


def _extensions(config: dict[str, object]) -> dict[str, dict[str, object]]:
    """Return the options of each Markdown extension by its name without its package's."""
    listed = config.get("markdown_extensions")
    if isinstance(listed, dict):
        listed = [{name: options} for name, options in listed.items()]
    found: dict[str, dict[str, object]] = {}
    for entry in listed if isinstance(listed, list) else []:
        for name, options in entry.items() if isinstance(entry, dict) else [(entry, None)]:
            found[str(name).rpartition(".")[2]] = options if isinstance(options, dict) else {}
    return found


def _folder(path: object) -> str:
    """Return a configured path relative to the book's folder; "" for that folder itself."""
    joined = normpath(str(path).strip("/") or ".")
    return "" if joined == "." else joined


def _names(value: object) -> tuple[str, ...]:
    return tuple(str(item) for item in (value if isinstance(value, list) else [value]) if item)


def _load(text: str, name: str) -> dict[str, object]:
    try:
        loaded = load_yaml(text, name, loader=_Loader)
    except UNREADABLE as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark is not None else 0
        raise BookError(f"is no YAML: {getattr(error, 'problem', error)}", name, line) from error
    return loaded if isinstance(loaded, dict) else {}


def _language(config: dict[str, object]) -> str:
    theme = config.get("theme")
    language = theme.get("language") if isinstance(theme, dict) else None
    return str(language or "").split("-")[0]


def _path(file: str, pretty: bool) -> str:
    path = PurePosixPath(file)
    folder = folder_of(file)
    if path.stem in ("index", "README"):
        inner = "" if pretty else "index.html"
        return f"{folder}/{inner}" if folder else inner
    stem = str(path.with_suffix(""))
    return f"{stem}/" if pretty else f"{stem}.html"


def _index_first(file: str) -> tuple[object, ...]:
    """Sort as MkDocs does: a folder's index, its files, its folders."""
    *folders, name = file.split("/")
    key: list[object] = [(1, folder) for folder in folders]
    key.append((0, "" if PurePosixPath(name).stem in ("index", "README") else name))
    return tuple(key)


def _nav_entries(items: object, depth: int, text: str) -> Iterator[TocEntry]:
    for item in items if isinstance(items, list) else []:
        if isinstance(item, str):
            yield TocEntry(item, "", depth, _line_of(text, item))
        elif isinstance(item, dict):
            for title, value in item.items():
                if isinstance(value, str):
                    yield TocEntry(value, str(title), depth, _line_of(text, value))
                elif isinstance(value, list):
                    yield TocEntry("", str(title), depth)
                    yield from _nav_entries(value, depth + 1, text)


def _line_of(text: str, target: str) -> int:
    return text.count("\n", 0, max(text.find(target), 0)) + 1


_REFERENCE = re.compile(
    r"^ {0,3}\[(?P<label>[^\[\]^][^\[\]]*)\]:[ \t]*<?(?P<target>[^\s>]+)>?", re.M
)


def appended_references(
    library: Library, layout: Layout, files: set[str], warnings: list[SourceWarning]
) -> dict[str, dict[str, object]]:
    """Return the link targets in the snippets that stand at the end of every page.

    The snippets' files go into `files`.
    """
    includes = TextIncludes(library, replace(SNIPPETS, bases=layout.snippet_bases))
    found: dict[str, dict[str, object]] = {}

    def warn(message: str, _: int) -> None:
        warnings.append(SourceWarning(message, CONFIG_NAMES[0], 0))

    for argument in layout.appended:
        text, path = includes.expand(f'--8<-- "{argument}"', "", warn)
        files |= {path} if path else set()
        for match in _REFERENCE.finditer(text):
            label = normalizeReference(match["label"])
            found[label] = {"title": "", "href": match["target"], "map": [0, 0]}
    return found


GENERATOR = SiteGenerator(
    open_mkdocs,
    lambda library: any(library.locate("", name) for name in CONFIG_NAMES),
    DIALECT,
    STYLE,
)
