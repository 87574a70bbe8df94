"""Sphinx with MyST, Jupyter Book and mystmd: `_toc.yml`, `myst.yml`, `toctree` directives."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from app.adapters.markdown.includes import Library, folder_of
from app.adapters.markdown.myst.directives import BLOCK_RULES
from app.adapters.markdown.parser.anchors import SPHINX
from app.adapters.markdown.parser.markup import Dialect
from app.adapters.markdown.site_map import (
    MARKDOWN_SUFFIXES,
    Layout,
    Page,
    SiteGenerator,
    TocEntry,
    configured_base,
    join_url,
    markdown_files,
    pages_of,
)
from app.adapters.markdown.yaml_source import UNREADABLE, load_yaml
from app.domain.document import Site, SourceWarning
from app.domain.errors import BookError

MAX_DEPTH = 60
_FENCED = re.compile(r"^(?P<fence>`{3,}|:{3,})[ \t]*\{toctree\}[^\n]*\n", re.M)
_DOTTED = re.compile(
    r"^(?P<indent>[ \t]*)\.\. toctree::[^\n]*\n(?P<body>(?:(?P=indent)[ \t]+[^\n]*\n?|[ \t]*\n)*)",
    re.M,
)
_TITLED = re.compile(r"^(?P<title>.+?)\s*<(?P<target>[^<>]+)>$")
_PAGES = (*MARKDOWN_SUFFIXES, ".rst", ".ipynb")


def toctree_entries(library: Library, folder: str, warnings: list[SourceWarning]) -> list[TocEntry]:
    """Follow the toctrees from the site's first page; targets come relative to `folder`."""
    reader = _Reader(library, folder, warnings)
    for name in ("index.md", "index.rst"):
        file = f"{folder}/{name}" if folder else name
        if library.text(file) is not None:
            return list(reader.entries(file, 0))
    return []


@dataclass(slots=True)
class _Reader:
    library: Library
    folder: str
    warnings: list[SourceWarning]
    seen: set[str] = field(default_factory=set)

    def entries(self, file: str, depth: int) -> Iterator[TocEntry]:
        text = self.library.text(file)
        if text is None or file in self.seen or depth > MAX_DEPTH:
            return
        self.seen.add(file)
        if file.endswith(MARKDOWN_SUFFIXES):
            yield TocEntry(file[len(self.folder) + 1 :] if self.folder else file, "", depth)
        dotted = file.endswith(".rst") or "{toctree}" not in text
        line, counted = 1, 0
        for start, body in _dotted(text) if dotted else _fenced(text):
            line, counted = line + text.count("\n", counted, start), start
            globs = re.search(r"^[ \t]*:glob:", body, re.M) is not None
            for number, raw in enumerate(body.split("\n"), line):
                for found in self._files(raw.strip(), file, number, globs):
                    yield from self.entries(found, depth + 1)

    def _files(self, entry: str, file: str, line: int, globs: bool) -> list[str]:
        """Return the files that a line of a toctree names; a warning if there is none."""
        if not entry or entry.startswith(":") or "://" in entry or entry == "self":
            return []
        titled = _TITLED.match(entry)
        target = titled["target"] if titled else entry
        # A path from the root begins with a slash.
        base = self.folder if target.startswith("/") else folder_of(file)
        target = target.lstrip("/")
        if globs and re.search(r"[*?\[]", target):
            joined = f"{base}/{target}" if base else target
            files = (found for found in markdown_files(self.library, base))
            return [found for found in files if fnmatchcase(found.rpartition(".")[0], joined)]
        names = (target, *(f"{target}{suffix}" for suffix in _PAGES))
        paths = (self.library.locate(base, name) for name in names)
        found = next((path for path in paths if path and path.endswith(_PAGES)), None)
        if found is None and target not in ("genindex", "modindex", "search"):
            message = f"listed in the table of contents but missing: {target}"
            self.warnings.append(SourceWarning(message, file, line))
        elif found is not None and found.endswith(".ipynb"):
            message = f"listed in the table of contents but is no Markdown file: {target}"
            self.warnings.append(SourceWarning(message, file, line))
            return []
        return [found] if found else []


def _dotted(text: str) -> Iterator[tuple[int, str]]:
    """Yield where the body of each reStructuredText toctree begins, and the body."""
    return ((tree.start("body"), tree["body"]) for tree in _DOTTED.finditer(text))


def _fenced(text: str) -> Iterator[tuple[int, str]]:
    """Yield the same of each MyST toctree; a fence that is not closed once is sought no more."""
    position, unclosed = 0, set()
    while opening := _FENCED.search(text, position):
        fence, position = opening["fence"], opening.end()
        if fence in unclosed:
            continue
        closing = re.compile(rf"^{fence}[ \t]*$", re.M).search(text, position)
        if closing is None:
            unclosed.add(fence)
        else:
            yield position, text[position : closing.start()]
            position = closing.end()


DIALECT = Dialect(
    myst=True,
    attribute_lists=True,
    math=True,
    definition_lists=True,
    block_rules=tuple(BLOCK_RULES.items()),
)
STYLE = SPHINX
CONFIG_NAMES = (
    "_toc.yml",
    "myst.yml",
    "conf.py",
    "docs/_toc.yml",
    "docs/conf.py",
    "source/conf.py",
)
_SUFFIXES = (".md", ".myst.md", ".markdown")
_CONF_VALUE = re.compile(
    r"^(?P<key>project|html_title|language|html_baseurl)\s*=\s*[\"']([^\"']*)", re.M
)


def find_config(library: Library) -> str:
    """Return the path of the file that makes the folder a MyST site; "" if there is none."""
    return next((name for name in CONFIG_NAMES if library.locate("", name)), "")


def open_myst(library: Library, base_url: str) -> Layout:
    """Read a Sphinx, Jupyter Book or mystmd site."""
    config_file = find_config(library)
    folder = folder_of(config_file)
    text = library.settings(config_file) if config_file else ""
    warnings: list[SourceWarning] = []
    mystmd = config_file.endswith("myst.yml")
    title, language, base = "", "", base_url
    entries: list[TocEntry] = []
    as_folders = False
    if config_file.endswith(".yml"):
        config = _load(text, config_file)
        if mystmd:
            project = _table(config.get("project"))
            title = str(project.get("title") or _table(config.get("site")).get("title") or "")
            entries = list(_mystmd_entries(project.get("toc"), 1, text))
        else:
            entries = list(_jupyter_entries(config, text))
            settings = _in(folder, "_config.yml")
            settings_text = library.text(settings) or ""
            book = _load(settings_text, settings)
            title = str(book.get("title") or "")
            html = _table(book.get("html"))
            language = str(_table(_table(book.get("sphinx")).get("config")).get("language") or "")
            base = base or configured_base(html.get("baseurl"), settings, settings_text, warnings)
    else:
        values = {match["key"]: match[2] for match in _CONF_VALUE.finditer(text)}
        title = values.get("html_title") or values.get("project") or ""
        language = values.get("language") or ""
        base = base or configured_base(values.get("html_baseurl"), config_file, text, warnings)
        entries = toctree_entries(library, folder, warnings)
        as_folders = _builds_folders(library, folder)

    files = markdown_files(library, folder)

    def page_url(file: str) -> str:
        inner = file[len(folder) + 1 :] if folder else file
        return join_url(base, _mystmd_path(inner) if mystmd else _html_path(inner, as_folders))

    if entries:
        toc = _in(folder, "toc")
        found = [_with_suffix(library, folder, entry) for entry in entries]
        pages = pages_of(found, library, toc, page_url, warnings, shown=config_file)
    else:
        pages = [Page(file, page_url(file)) for file in files]
    taken = {page.file for page in pages}
    return Layout(
        Site.MYST,
        DIALECT,
        STYLE,
        tuple(pages),
        tuple(Page(file, page_url(file)) for file in files if file not in taken),
        title,
        base.rstrip("/"),
        language.split("_")[0].split("-")[0],
        tuple(warnings),
        pages_root=folder,
    )


def _in(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _load(text: str, name: str) -> dict[str, object]:
    try:
        loaded = load_yaml(text, name)
    except UNREADABLE as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark is not None else 0
        raise BookError(f"is no YAML: {getattr(error, 'problem', error)}", name, line) from error
    if isinstance(loaded, list):
        return {"chapters": loaded}
    return loaded if isinstance(loaded, dict) else {}


def _table(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _html_path(file: str, as_folders: bool) -> str:
    stem = _stem(file)
    if not as_folders:
        return f"{stem}.html"
    return (
        f"{stem.removesuffix('index')}"
        if stem == "index" or stem.endswith("/index")
        else f"{stem}/"
    )


def _builds_folders(library: Library, folder: str) -> bool:
    """True if the site is built by `dirhtml`, as its makefile or Read the Docs's settings say."""
    for name in (".readthedocs.yaml", ".readthedocs.yml", "Makefile", _in(folder, "Makefile")):
        text = library.text(name) or ""
        if re.search(r"^[ \t]*builder:\s*[\"']?dirhtml\b|-b[ \t=]*dirhtml\b", text, re.M):
            return True
    return False


def _stem(file: str) -> str:
    return file[: -len(PurePosixPath(file).suffix)]


def _mystmd_path(file: str) -> str:
    """Return mystmd's page slug: the file's name in lower case without a number in front."""
    stem = PurePosixPath(file).stem
    if stem.lower() == "index" and "/" not in file:
        return ""
    if stem.lower() in ("index", "readme") and "/" in file:
        stem = folder_of(file).rpartition("/")[2]
    slug = re.sub(r"^\d+[\s._-]+", "", stem.lower())
    return re.sub(r"[^\w]+|_", "-", slug).strip("-")


def _with_suffix(library: Library, folder: str, entry: TocEntry) -> TocEntry:
    """Find the Markdown file that an entry names with or without its suffix."""
    if not entry.target or entry.target.endswith(_SUFFIXES):
        return entry
    for suffix in _SUFFIXES:
        if library.locate(folder, entry.target + suffix):
            return TocEntry(entry.target + suffix, entry.title, entry.depth, entry.line)
    return entry


def _jupyter_entries(config: dict[str, object], text: str) -> Iterator[TocEntry]:
    root = config.get("root") or config.get("master")
    if isinstance(root, str):
        yield TocEntry(root, "", 0, _line_of(text, root))
    for part in [config, *_dicts(config.get("parts")), *_dicts(config.get("subtrees"))]:
        caption = part.get("caption")
        if caption:
            yield TocEntry("", str(caption), 0)
        for key in ("chapters", "entries"):
            yield from _file_entries(part.get(key), 1, text)


def _dicts(value: object) -> list[dict[str, object]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _file_entries(items: object, depth: int, text: str) -> Iterator[TocEntry]:
    for item in _dicts(items):
        if item.get("part") or item.get("header"):
            yield TocEntry("", str(item.get("part") or item.get("header")), 0)
        file = item.get("file")
        if isinstance(file, str):
            yield TocEntry(file, str(item.get("title") or ""), depth, _line_of(text, file))
        for key in ("sections", "chapters", "entries"):
            yield from _file_entries(item.get(key), depth + 1, text)
        for tree in _dicts(item.get("subtrees")):
            yield from _file_entries(tree.get("entries"), depth + 1, text)


def _mystmd_entries(items: object, depth: int, text: str) -> Iterator[TocEntry]:
    for item in _dicts(items):
        file = item.get("file")
        title = str(item.get("title") or "")
        if isinstance(file, str) or title:
            target = file if isinstance(file, str) else ""
            yield TocEntry(target, title, depth, _line_of(text, target) if target else 0)
        yield from _mystmd_entries(item.get("children"), depth + 1, text)


def _line_of(text: str, target: str) -> int:
    return text.count("\n", 0, max(text.find(target), 0)) + 1


GENERATOR = SiteGenerator(open_myst, lambda library: bool(find_config(library)), DIALECT, STYLE)
