"""MkDocs: `mkdocs.yml`, its nav, and pretty URLs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import PurePosixPath
from posixpath import normpath
from typing import TypeAlias

from markdown_it.common.utils import normalizeReference

from app.adapters.markdown.book_files import BookFiles, folder_of
from app.adapters.markdown.folder_files import MARKDOWN_SUFFIXES, PAGE_SUFFIXES, page_files
from app.adapters.markdown.includes import TextIncludes
from app.adapters.markdown.mkdocs.locales import Locales, read_locales
from app.adapters.markdown.mkdocs.snippets import FILE_INCLUDES
from app.adapters.markdown.mkdocs.syntax import DIALECT, PYMDOWNX, STYLE, dialect_with
from app.adapters.markdown.parser.anchors import SlugStyle
from app.adapters.markdown.parser.dialect import Dialect
from app.adapters.markdown.site_map import (
    SiteGenerator,
    SitePage,
    SiteSettings,
    TableOfContents,
    TocEntry,
    configured_base,
    inside,
    join_url,
    line_of,
    names,
    table,
    under,
)
from app.adapters.markdown.source import LOADER, load_settings
from app.domain.document import Site, SourceWarning
from app.domain.edition import Edition

CONFIG_NAMES = ("mkdocs.yml", "mkdocs.yaml")
_CODE_REFERENCES = frozenset({"autorefs", "mkdocstrings"})
"""Plugins that make links of references without a definition."""
_NOTEBOOKS = "mkdocs-jupyter"
"""The plugin that makes pages of notebooks."""


class _Loader(LOADER):  # type: ignore[misc, valid-type]
    """Loads `!!python/...` tags as the name of the object, others such as `!ENV` as None."""


_Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda _loader, suffix, _node: suffix)
_Loader.add_multi_constructor("", lambda _loader, _suffix, _node: None)


def read_settings(
    book_files: BookFiles, base_url: str, warnings: list[SourceWarning]
) -> SiteSettings:
    """Read `mkdocs.yml`."""
    name = find_config(book_files)
    text = book_files.settings(name) if name else ""
    config = table(load_settings(text, name, _Loader))
    configured = str(config.get("docs_dir") or "")
    docs = _folder(configured or "docs")
    if not book_files.has_folder(docs):
        docs = ""
    base_url = base_url or configured_base(config.get("site_url"), name, text, warnings)
    extensions = _extensions(config)
    snippets = extensions.get("snippets", {})
    bases = tuple(map(_folder, names(snippets.get("base_path")))) or ("",)
    for extension in sorted(FILE_INCLUDES & extensions.keys()):
        bases += (_folder(extensions[extension].get("base_path") or "."),)
    plugins = set(_plugins(config))
    references_code = {"autorefs"} if _CODE_REFERENCES & plugins else set()
    dialect = dialect_with(frozenset(extensions) | references_code, bases)
    references, files = _appended_references(book_files, snippets, dialect, warnings)

    def contents_of(nav: object) -> TableOfContents | None:
        entries = list(_nav_entries(nav, 1, text))
        return TableOfContents(entries, docs, name) if isinstance(nav, list) else None

    settings = SiteSettings(
        base_url,
        str(config.get("site_name") or ""),
        str(table(config, "theme").get("language") or ""),
        docs,
        partial(_path, pretty=config.get("use_directory_urls") is not False),
        contents_of(config.get("nav")),
        sort_key=_index_first,
        dialect=dialect,
        style=_style(extensions),
        references=references,
        reference_files=files,
        suffixes=PAGE_SUFFIXES if _NOTEBOOKS in plugins else MARKDOWN_SUFFIXES,
        configured_folder=configured,
    )
    locales = read_locales(config.get("plugins"))
    return _with_locales(settings, locales, book_files, contents_of) if locales else settings


ContentsReader: TypeAlias = Callable[[object], TableOfContents | None]
"""`read(nav)` -> the table of contents; None if `nav` is no list."""


def _style(extensions: Mapping[str, dict[str, object]]) -> SlugStyle:
    slugify = extensions.get("toc", {}).get("slugify")
    return PYMDOWNX if "pymdownx" in str(slugify) else STYLE


def _with_locales(
    settings: SiteSettings, locales: Locales, book_files: BookFiles, contents_of: ContentsReader
) -> SiteSettings:
    """Return the settings of the default locale, with those of each as an edition."""

    def edition(locale: str) -> Edition:
        return Edition("", locale, ("", "" if locale == locales.default else locale))

    of = partial(_localized, settings, locales, book_files, contents_of)
    return replace(
        of(locales.default),
        editions={edition(locale): partial(of, locale) for locale in locales.options},
    )


def _localized(
    settings: SiteSettings,
    locales: Locales,
    book_files: BookFiles,
    contents_of: ContentsReader,
    locale: str,
) -> SiteSettings:
    """Return the settings of a locale: the pages it shows, below its own address."""
    docs, options = settings.folder, locales.options[locale]
    files = [inside(docs, file) for file in page_files(book_files, docs, settings.suffixes)]
    shown = {path: under(docs, file) for path, file in locales.shown(locale, files).items()}
    paths = {file: path for path, file in shown.items()}
    is_default = locale == locales.default
    base = settings.base_url if is_default else join_url(settings.base_url, locale)

    def path_of(file: str) -> str:
        return settings.path_of(locales.split(file)[1])

    contents = contents_of(options.get("nav")) or settings.contents
    if contents:
        found = [_entry_in(locales, shown, docs, options, one) for one in contents.entries]
        contents = replace(contents, entries=found)
    return replace(
        settings,
        base_url=base,
        title=str(options.get("site_name") or settings.title),
        language=(settings.language if is_default else "") or locale,
        path_of=path_of,
        contents=contents,
        every_page=[
            SitePage(file, join_url(base, settings.path_of(path))) for file, path in paths.items()
        ],
        sort_key=lambda file: _index_first(paths[file]),
    )


def _entry_in(
    locales: Locales,
    shown: Mapping[str, str],
    docs: str,
    options: Mapping[str, object],
    entry: TocEntry,
) -> TocEntry:
    """Return an entry of the navigation as a locale shows it: its file, its title."""
    file = shown.get(locales.split(entry.target)[1])
    title = str(table(options, "nav_translations").get(entry.title) or entry.title)
    return replace(entry, target=inside(docs, file) if file else entry.target, title=title)


def find_config(book_files: BookFiles) -> str:
    """Return the name of the site's configuration; "" if there is none."""
    return book_files.first("", CONFIG_NAMES) or ""


def _extensions(config: dict[str, object]) -> dict[str, dict[str, object]]:
    """Return the options of each Markdown extension, by its name without the package."""
    listed = config.get("markdown_extensions")
    if isinstance(listed, dict):
        listed = [{name: options} for name, options in listed.items()]
    found: dict[str, dict[str, object]] = {}
    for entry in listed if isinstance(listed, list) else []:
        for name, options in entry.items() if isinstance(entry, dict) else [(entry, None)]:
            found[str(name).rpartition(".")[2]] = options if isinstance(options, dict) else {}
    return found


def _plugins(config: dict[str, object]) -> Iterator[str]:
    listed = config.get("plugins")
    for entry in listed if isinstance(listed, (list, dict)) else []:
        yield from map(str, entry if isinstance(entry, dict) else [entry])


def _folder(path: object) -> str:
    """Return a configured path relative to the book's folder; "" for that folder itself."""
    joined = normpath(str(path).strip("/") or ".")
    return "" if joined == "." else joined


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
    own = "" if PurePosixPath(name).stem in ("index", "README") else name
    return (*((1, folder) for folder in folders), (0, own))


def _nav_entries(items: object, depth: int, text: str) -> Iterator[TocEntry]:
    for item in items if isinstance(items, list) else []:
        if isinstance(item, str):
            yield TocEntry(item, "", depth, line_of(text, item))
        elif isinstance(item, dict):
            for title, value in item.items():
                if isinstance(value, str):
                    yield TocEntry(value, str(title), depth, line_of(text, value))
                elif isinstance(value, list):
                    yield TocEntry("", str(title), depth)
                    yield from _nav_entries(value, depth + 1, text)


_REFERENCE = re.compile(
    r"^ {0,3}\[(?P<label>[^\[\]^][^\[\]]*)\]:[ \t]*<?(?P<target>[^\s>]+)>?", re.M
)


def _appended_references(
    book_files: BookFiles,
    snippets: dict[str, object],
    dialect: Dialect,
    warnings: list[SourceWarning],
) -> tuple[dict[str, dict[str, object]], frozenset[str]]:
    """Return the link definitions in snippets appended to every page, and their files."""
    includes = TextIncludes(book_files, dialect.includes)
    found: dict[str, dict[str, object]] = {}
    files: set[str] = set()

    def warn(message: str, _: int) -> None:
        warnings.append(SourceWarning(message, CONFIG_NAMES[0], 0))

    for argument in names(snippets.get("auto_append")):
        text, path = includes.expand(f'--8<-- "{argument}"', "", warn)
        files |= {path} if path else set()
        for match in _REFERENCE.finditer(text):
            label = normalizeReference(match["label"])
            found[label] = {"title": "", "href": match["target"], "map": [0, 0]}
    return found, frozenset(files)


GENERATOR = SiteGenerator(
    Site.MKDOCS,
    DIALECT,
    STYLE,
    find_config,
    read_settings,
    is_unsearchable=lambda front: table(front, "search").get("exclude") is True,
)
