"""Sphinx with MyST, Jupyter Book and mystmd: `_toc.yml`, `myst.yml`, `toctree` directives."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from app.adapters.markdown.book_files import BookFiles, folder_of
from app.adapters.markdown.folder_files import PAGE_SUFFIXES, page_files, pages_among, walk
from app.adapters.markdown.globs import matches_glob
from app.adapters.markdown.myst.conf_py import literal_setting
from app.adapters.markdown.myst.cross_references import MystCrossReferences
from app.adapters.markdown.myst.directives import CODE
from app.adapters.markdown.myst.extensions import dialect_with, style_with
from app.adapters.markdown.myst.page_paths import by_folder, by_path, paths_of, slug_of
from app.adapters.markdown.myst.substitutions import of_conf, of_site
from app.adapters.markdown.myst.syntax import DIALECT, MYSTMD_DIALECT, MYSTMD_STYLE, STYLE
from app.adapters.markdown.parser.anchors import JUPYTER
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
from app.adapters.markdown.source import load_settings
from app.domain.document import Site, SourceWarning
from app.domain.errors import FileRefused

MAX_DEPTH = 60
_FENCED = re.compile(r"^(?P<fence>`{3,}|~{3,}|:{3,})[ \t]*(?:\{(?P<name>[\w:-]+)\})?[^\n]*\n", re.M)
_DOTTED = re.compile(
    r"^(?P<indent>[ \t]*)\.\. toctree::[^\n]*\n(?P<body>(?:(?P=indent)[ \t]+[^\n]*\n?|[ \t]*\n)*)",
    re.M,
)
_TITLED = re.compile(r"^(?P<title>.+?)\s*<(?P<target>[^<>]+)>$")
_GLOB = re.compile(r"^[ \t]*:glob:", re.M)
_NUMBERED = re.compile(r"^[ \t]*:numbered:", re.M)
_WILDCARD = re.compile(r"[*?\[]")
_SOURCES = (*PAGE_SUFFIXES, ".rst")


CONFIG_NAMES = (
    "_toc.yml",
    "myst.yml",
    "conf.py",
    "docs/_toc.yml",
    "book/_toc.yml",
    "docs/conf.py",
    "source/conf.py",
)
_SUFFIXES = (".md", ".myst.md", ".markdown", ".ipynb")
_TOCS = ("_toc.yml", "myst.yml")
_MAX_FOLDERS = 2
_SAMPLES = frozenset("test tests example examples template templates".split())
_NUMFIG = re.compile(r"^numfig\s*=\s*True\b", re.M)
_BIBLIOGRAPHIES = re.compile(r"^bibtex_bibfiles\s*=\s*\[(?P<files>[^\]]*)\]", re.M)
_QUOTED = re.compile(r"[\"']([^\"'\n]+)[\"']")
_DIRHTML = re.compile(r"^[ \t]*builder:\s*[\"']?dirhtml\b|-b[ \t=]*dirhtml\b", re.M)
_CONF_VALUE = re.compile(
    r"^(?P<key>project|html_title|language|html_baseurl)\s*=\s*[\"']([^\"']*)", re.M
)


def _find_config(book_files: BookFiles) -> str:
    """Return the path of the site's configuration file; "" if this is not a MyST site.

    In a repository the book may be in a subfolder: the topmost table of contents is used then.
    """
    found = _config_at_top(book_files)
    below = () if found else filter(_is_toc_of_book, walk(book_files))
    return found or min(below, key=lambda file: (file.count("/"), file), default="")


def _config_at_top(book_files: BookFiles) -> str:
    return book_files.first("", CONFIG_NAMES) or ""


def _is_toc_of_book(file: str) -> bool:
    """Whether this may be the repository's book: near the top, not a test or example."""
    *folders, name = file.split("/")
    return name in _TOCS and len(folders) <= _MAX_FOLDERS and not _SAMPLES.intersection(folders)


def read_settings(
    book_files: BookFiles, base_url: str, warnings: list[SourceWarning]
) -> SiteSettings:
    """Read a Sphinx, Jupyter Book or mystmd site."""
    file = _find_config(book_files)
    text = book_files.settings(file) if file else ""
    site = _Site(book_files, base_url, warnings, file, folder_of(file), text)
    if file.endswith("myst.yml"):
        return _mystmd(site)
    return _jupyter_book(site) if file.endswith(".yml") else _sphinx(site)


@dataclass(frozen=True, slots=True)
class _Site:
    """A site's files, and its configuration file with its folder and text."""

    book_files: BookFiles
    base_url: str
    """Takes precedence over the configured one."""
    warnings: list[SourceWarning]
    file: str
    folder: str
    text: str

    def with_contents(
        self,
        settings: SiteSettings,
        entries: Iterable[TocEntry],
        numbers_figures: bool = False,
        bibliographies: Iterable[str] = (),
    ) -> SiteSettings:
        """Add the folder, the table of contents and cross-references to a site's settings."""
        found = [_with_suffix(self.book_files, self.folder, entry) for entry in entries]
        listed = any(entry.target for entry in found)
        cited = [under(self.folder, name) for name in bibliographies]
        return replace(
            settings,
            folder=self.folder,
            suffixes=PAGE_SUFFIXES,
            contents=TableOfContents(found, self.folder, self.file) if listed else None,
            cross_references=MystCrossReferences(
                self.book_files, self.folder, found, numbers_figures, cited
            ),
        )

    def with_patterns(
        self, entries: Sequence[TocEntry], files: Iterable[str]
    ) -> Iterator[TocEntry]:
        """Replace each pattern by the files it matches and no entry names, an index first."""
        left = {file for file in files if file.lower().endswith(PAGE_SUFFIXES)}
        left -= {entry.target for entry in entries}
        for entry in entries:
            if not _WILDCARD.search(entry.target) or self.book_files.locate(
                self.folder, entry.target
            ):
                yield entry
                continue
            found = sorted((file for file in left if matches_glob(entry.target, file)), key=by_path)
            yield from (replace(entry, target=file, title="") for file in found)
            left.difference_update(found)


def _mystmd(site: _Site) -> SiteSettings:
    loaded = _load(site.text, site.file)
    project = table(loaded, "project")
    title = str(project.get("title") or table(loaded, "site").get("title") or "")
    files = _files_without(site, names(project.get("exclude")))
    entries = site.with_patterns(list(_mystmd_entries(project.get("toc"), 1, site.text)), files)
    folders = bool(table(loaded, "site", "options").get("folders"))
    settings = SiteSettings(site.base_url, title, dialect=MYSTMD_DIALECT, style=MYSTMD_STYLE)
    cited = names(project.get("bibliography")) or [one for one in files if one.endswith(".bib")]
    settings = site.with_contents(settings, entries, bibliographies=cited)
    targets = [entry.target for entry in settings.contents.entries] if settings.contents else []
    listed = [one for one in targets if one and site.book_files.locate(site.folder, one)]
    paths = paths_of(listed, files, folders)

    def path_of(file: str) -> str:
        return paths.get(file, slug_of(file, folders))

    def page(file: str) -> SitePage:
        return SitePage(under(site.folder, file), join_url(site.base_url, path_of(file)))

    every = [page(file) for file in sorted(pages_among(files, PAGE_SUFFIXES))]
    return replace(settings, path_of=path_of, every_page=every, sort_key=by_folder)


def _files_without(site: _Site, excluded: Sequence[str]) -> list[str]:
    """Return the site's files that match none of these patterns, sorted."""
    files = sorted(inside(site.folder, file) for file in walk(site.book_files, site.folder))
    return [file for file in files if not any(matches_glob(glob, file) for glob in excluded)]


def _jupyter_book(site: _Site) -> SiteSettings:
    entries = _jupyter_entries(_load(site.text, site.file), site.text)
    file = under(site.folder, "_config.yml")
    text = site.book_files.text(file) or ""
    book = _load(text, file)
    url, extensions = table(book, "html").get("baseurl"), _jupyter_extensions(book)
    settings = SiteSettings(
        site.base_url or configured_base(url, file, text, site.warnings),
        str(book.get("title") or ""),
        str(table(book, "sphinx", "config").get("language") or ""),
        path_of=_html_path,
        dialect=dialect_with(extensions),
        style=style_with(extensions),
        substitutions=of_site(book),
    )
    return site.with_contents(settings, entries, True, names(book.get("bibtex_bibfiles")))


def _jupyter_extensions(book: dict[str, object]) -> set[str]:
    """Return the configured extensions, or the one of the default ones that matters here."""
    places = table(book, "parse"), table(book, "sphinx", "config")
    found = {name for place in places for name in names(place.get("myst_enable_extensions"))}
    return found or {"dollarmath"}


def _sphinx(site: _Site) -> SiteSettings:
    values = {match["key"]: match[2] for match in _CONF_VALUE.finditer(site.text)}
    url = values.get("html_baseurl")
    extensions = names(literal_setting(site.text, "myst_enable_extensions"))
    has_nbsphinx = "nbsphinx" in names(literal_setting(site.text, "extensions"))
    settings = SiteSettings(
        site.base_url or configured_base(url, site.file, site.text, site.warnings),
        values.get("html_title") or values.get("project") or "",
        values.get("language") or "",
        path_of=_folder_path if _builds_folders(site.book_files, site.folder) else _html_path,
        dialect=dialect_with(extensions),
        style=style_with(extensions),
        notebook_style=JUPYTER if has_nbsphinx else None,
        substitutions=of_conf(site.text),
    )
    numbers_figures = _NUMFIG.search(site.text) is not None
    listed = _BIBLIOGRAPHIES.search(site.text)
    bibliographies = _QUOTED.findall(listed["files"]) if listed else []
    entries = _toctree_entries(site)
    return site.with_contents(settings, entries, numbers_figures, bibliographies)


def _load(text: str, name: str) -> dict[str, object]:
    loaded = load_settings(text, name)
    return {"chapters": loaded} if isinstance(loaded, list) else table(loaded)


def _html_path(file: str) -> str:
    return f"{_stem(file)}.html"


def _folder_path(file: str) -> str:
    """Return the path that `dirhtml` gives a page."""
    stem = _stem(file)
    is_index = stem == "index" or stem.endswith("/index")
    return stem.removesuffix("index") if is_index else f"{stem}/"


def _builds_folders(book_files: BookFiles, folder: str) -> bool:
    """True if the site is built by `dirhtml`, as its makefile or Read the Docs's settings say."""
    names = (".readthedocs.yaml", ".readthedocs.yml", "Makefile", under(folder, "Makefile"))
    return any(_DIRHTML.search(book_files.text(name) or "") for name in names)


def _stem(file: str) -> str:
    return file[: -len(PurePosixPath(file).suffix)]


def _with_suffix(book_files: BookFiles, folder: str, entry: TocEntry) -> TocEntry:
    """Find the file that an entry names with or without its suffix."""
    if not entry.target or entry.target.endswith(_SUFFIXES):
        return entry
    names = (entry.target + suffix for suffix in (*_SUFFIXES, ".rst"))
    found = (name for name in names if book_files.locate(folder, name))
    return replace(entry, target=next(found, entry.target))


def _jupyter_entries(config: dict[str, object], text: str) -> Iterator[TocEntry]:
    root = config.get("root") or config.get("master")
    every = bool(table(config, "defaults").get("numbered"))
    if isinstance(root, str):
        yield TocEntry(root, "", 0, line_of(text, root))
    for part in [config, *_dicts(config.get("parts")), *_dicts(config.get("subtrees"))]:
        caption = part.get("caption")
        if caption:
            yield TocEntry("", str(caption), 0)
        numbered = bool(part.get("numbered") or table(part, "options").get("numbered"))
        for key in ("chapters", "entries"):
            for entry in _file_entries(part.get(key), 1, text):
                yield replace(entry, numbered=numbered or every)


def _dicts(value: object) -> list[dict[str, object]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _file_entries(items: object, depth: int, text: str) -> Iterator[TocEntry]:
    for item in _dicts(items):
        if item.get("part") or item.get("header"):
            yield TocEntry("", str(item.get("part") or item.get("header")), 0)
        file = item.get("file")
        if isinstance(file, str):
            yield TocEntry(file, str(item.get("title") or ""), depth, line_of(text, file))
        for key in ("sections", "chapters", "entries"):
            yield from _file_entries(item.get(key), depth + 1, text)
        for tree in _dicts(item.get("subtrees")):
            yield from _file_entries(tree.get("entries"), depth + 1, text)


def _mystmd_entries(items: object, depth: int, text: str) -> Iterator[TocEntry]:
    for item in _dicts(items):
        file = item.get("file") or item.get("pattern")
        title = str(item.get("title") or "")
        if isinstance(file, str) or title:
            target = file if isinstance(file, str) else ""
            yield TocEntry(target, title, depth, line_of(text, target) if target else 0)
        yield from _mystmd_entries(item.get("children"), depth + 1, text)


def _toctree_entries(site: _Site) -> Iterator[TocEntry]:
    """Follow the toctrees from the site's root page; targets are relative to the site's folder."""
    root = site.book_files.first(site.folder, ("index.md", "index.rst"))
    reader = _TocReader(site.book_files, site.folder, site.warnings)
    return reader.entries(root, 0) if root else iter(())


@dataclass(slots=True)
class _TocReader:
    book_files: BookFiles
    folder: str
    warnings: list[SourceWarning]
    seen: set[str] = field(default_factory=set)

    def entries(self, file: str, depth: int, numbered: bool = False) -> Iterator[TocEntry]:
        """Yield a page and those below it; a page that is not Markdown has no target."""
        if file in self.seen or depth > MAX_DEPTH:
            return
        self.seen.add(file)
        target = inside(self.folder, file) if file.endswith(PAGE_SUFFIXES) else ""
        yield TocEntry(target, "", depth, numbered=numbered)
        for line, body in _toctrees(_text(self.book_files, file), dotted=file.endswith(".rst")):
            globs = _GLOB.search(body) is not None
            below = numbered or _NUMBERED.search(body) is not None
            for number, raw in enumerate(body.split("\n"), line):
                for found in self._files(raw.strip(), file, number, globs):
                    yield from self.entries(found, depth + 1, below)

    def _files(self, entry: str, file: str, line: int, globs: bool) -> list[str]:
        """Return the files that a line of a toctree names; warn if there is none."""
        if entry in ("", "self") or entry.startswith(":") or "://" in entry:
            return []
        titled = _TITLED.match(entry)
        target = titled["target"] if titled else entry
        # A path from the root begins with a slash.
        base = self.folder if target.startswith("/") else folder_of(file)
        target = target.lstrip("/")
        if globs and _WILDCARD.search(target):
            return self._matching(base, under(base, target))
        found = self._located(base, target)
        if found:
            return [found]
        if target not in ("genindex", "modindex", "search"):  # which Sphinx generates
            message = f"listed in the table of contents but missing: {target}"
            self.warnings.append(SourceWarning(message, file, line))
        return []

    def _matching(self, folder: str, pattern: str) -> list[str]:
        files = page_files(self.book_files, folder, PAGE_SUFFIXES)
        return [file for file in files if fnmatchcase(file.rpartition(".")[0], pattern)]

    def _located(self, base: str, target: str) -> str:
        """Return the page that a target names with or without its suffix; "" if there is none."""
        paths = (f"{target}{suffix}" for suffix in ("", *_SOURCES))
        return (
            self.book_files.first(base, (path for path in paths if path.endswith(_SOURCES))) or ""
        )


def _text(book_files: BookFiles, file: str) -> str:
    """Return a page's text; "" if it is refused, which is reported when it is read."""
    try:
        return book_files.text(file) or ""
    except FileRefused:
        return ""


def _toctrees(text: str, *, dotted: bool) -> Iterator[tuple[int, str]]:
    """Yield the first line of the body of each toctree, and the body."""
    dotted = dotted or "{toctree}" not in text
    line, counted = 1, 0
    for start, body in _dotted(text) if dotted else _fenced(text):
        line, counted = line + text.count("\n", counted, start), start
        yield line, body


def _dotted(text: str) -> Iterator[tuple[int, str]]:
    """Yield where the body of each reStructuredText toctree begins, and the body."""
    return ((tree.start("body"), tree["body"]) for tree in _DOTTED.finditer(text))


def _fenced(text: str) -> Iterator[tuple[int, str]]:
    """Yield the same for each MyST toctree outside code; an unclosed fence is skipped."""
    position, unclosed = 0, set()
    while opening := _FENCED.search(text, position):
        fence, position = opening["fence"], opening.end()
        is_toctree = opening["name"] == "toctree"
        is_code = opening["name"] in CODE or (not opening["name"] and fence[0] != ":")
        if fence in unclosed or not (is_toctree or is_code):
            continue
        closing = re.compile(rf"^{fence}[ \t]*$", re.M).search(text, position)
        if closing is None:
            unclosed.add(fence)
        else:
            if is_toctree:
                yield position, text[position : closing.start()]
            position = closing.end()


GENERATOR = SiteGenerator(
    Site.MYST,
    DIALECT,
    STYLE,
    _config_at_top,
    read_settings,
    links_by_label=True,
    find_config_below=_find_config,
    is_unsearchable=lambda front: "nosearch" in front,
)
