"""What a site generator's conventions make of a folder."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from app.adapters.markdown.includes import Library, folder_of
from app.adapters.markdown.parser.anchors import SlugStyle
from app.adapters.markdown.parser.markup import Dialect
from app.domain.document import Site, SourceWarning
from app.domain.errors import BookError, InputError
from app.domain.urls import checked_base_url, encoded_path, encoded_url
from app.services.book_folder import IRREGULAR, shown_name

MARKDOWN_SUFFIXES = (".md", ".mdx", ".markdown", ".mdown")
_SKIPPED_FOLDERS = frozenset(
    {"node_modules", "build", "dist", "_build", "site-packages", "__pycache__", "_site", "book"}
)

LEADS_NOWHERE = "is a link that leads nowhere: not read"
NOT_UTF8 = "has a name that is not UTF-8: not read"

_PART = re.compile(r"(?:part|unit|volume|book|module|(?:front|back) ?matter|appendi)", re.I)


@dataclass(frozen=True, slots=True)
class Page:
    """A source file and its place in the book."""

    file: str
    url: str
    title: str = ""
    """The table of contents' name for it; "" if it gives none."""
    chapter: str = ""
    language: str = ""


@dataclass(frozen=True, slots=True)
class Layout:
    """A book's folder as its site generator sees it."""

    site: Site
    dialect: Dialect
    style: SlugStyle
    pages: tuple[Page, ...]
    orphans: tuple[Page, ...] = ()
    title: str = ""
    base_url: str = ""
    language: str = ""
    """An ISO 639-1 code; "" where the site does not say."""
    warnings: tuple[SourceWarning, ...] = ()
    site_root: str = ""
    """The folder that `@site/` names, relative to the book's."""
    pages_root: str = ""
    """The folder that holds the pages, relative to the book's."""
    snippet_bases: tuple[str, ...] = ("",)
    """MkDocs: the folders and files, relative to the book's, that snippets are looked for in."""
    appended: tuple[str, ...] = ()
    """MkDocs: snippets that stand at the end of every page; they hold link targets."""


@dataclass(frozen=True, slots=True)
class TocEntry:
    """One line of a table of contents; `target` is "" for a heading without a page.

    Depth 0 is that of parts, which hold chapters; what stands below one or alone has depth 1.
    """

    target: str
    title: str
    depth: int
    line: int = 0


def markdown_files(library: Library, folder: str = "") -> list[str]:
    """Return all Markdown files below `folder`, relative to the root, sorted."""
    return sorted(
        file for file in walk(library, folder) if file.lower().endswith(MARKDOWN_SUFFIXES)
    )


def walk(library: Library, folder: str = "") -> Iterator[str]:
    """Yield every file below `folder` but hidden ones, dependencies and build output.

    Links to files of the book are files; links to its folders are not followed, so no file comes
    twice. What is left out because of where it leads, or of its name, the library notes.
    """
    if not library.has_folder(folder):
        return
    stack = [library.root / folder if folder else library.root]
    while stack:
        here = stack.pop()
        try:
            entries = sorted(here.iterdir())
        except OSError as error:
            raise BookError(f"cannot be listed: {error.strerror}", str(here)) from error
        for entry in entries:
            name = entry.relative_to(library.root).as_posix()
            if entry.name.startswith("."):
                continue
            if entry.is_dir():
                if entry.name not in _SKIPPED_FOLDERS and _is_walked(library, entry, name):
                    stack.append(entry)
            elif _is_read(library, entry, name):
                yield name


def _is_walked(library: Library, folder: Path, name: str) -> bool:
    if folder.is_symlink():
        library.has_folder(name)  # which notes one that leads elsewhere
        return False
    if shown_name(name) != name:
        library.refuse(name, NOT_UTF8)
        return False
    return True


def _is_read(library: Library, file: Path, name: str) -> bool:
    if file.is_file() and shown_name(name) == name:
        return not file.is_symlink() or library.locate("", name) is not None
    if name.lower().endswith(MARKDOWN_SUFFIXES):
        nowhere = file.is_symlink() and not file.exists()
        library.refuse(
            name, NOT_UTF8 if file.is_file() else LEADS_NOWHERE if nowhere else IRREGULAR
        )
    return False


def chapters(entries: Sequence[TocEntry]) -> list[str]:
    """Return for each entry the title of the chapter it belongs to.

    That is its topmost ancestor that is a page of its own, else the group that it stands in, else
    the entry itself. A part ("Unit 2", or what stands at depth 0) is no chapter.
    """
    result: list[str] = []
    stack: list[TocEntry] = []
    for entry in entries:
        while stack and stack[-1].depth >= entry.depth:
            stack.pop()
        linked = next((above.title for above in stack if above.target), "")
        group = stack[-1].title if stack and not _is_part(stack[-1]) else ""
        result.append(linked or group or entry.title)
        stack.append(entry)
    return result


def _is_part(entry: TocEntry) -> bool:
    return entry.depth == 0 or (not entry.target and _PART.match(entry.title) is not None)


def join_url(base: str, path: str, *, encoded: bool = False) -> str:
    """Join a base URL and a path, percent-encoded.

    `encoded` is for a path that may be so already; in a file's a per cent sign is one.
    """
    trimmed = path.lstrip("/")
    literal = trimmed if encoded else trimmed.replace("%", "%25")
    return f"{encoded_url(base.rstrip('/'))}/{encoded_path(literal)}"


def configured_base(url: object, file: str, text: str, warnings: list[SourceWarning]) -> str:
    """Return the address that a site's configuration gives; "", and a warning, if it is none.

    `text` is that of the configuration `file`.
    """
    given = str(url or "")
    try:
        return checked_base_url(given)
    except InputError as error:
        line = text.count("\n", 0, max(text.find(given), 0)) + 1
        warnings.append(SourceWarning(f"{error}; left out", file, line))
        return ""


def site_base(base_url: str, configured_url: str, configured_path: str) -> str:
    """Return where the site's root is.

    The `base_url` a person gives wins; a bare origin gets the configured path behind it.
    """
    path = "/" + configured_path.strip("/")
    if not base_url:
        return configured_url.rstrip("/") + path.rstrip("/")
    parts = urlsplit(base_url)
    if parts.path.strip("/"):
        return base_url.rstrip("/")
    return base_url.rstrip("/") + path.rstrip("/")


def pages_of(
    entries: Sequence[TocEntry],
    library: Library,
    toc_file: str,
    page_url: Callable[[str], str],
    warnings: list[SourceWarning],
    shown: str = "",
) -> list[Page]:
    """Return a page for each entry whose file exists, each file once, in order.

    Targets are relative to the folder of `toc_file`; warnings name `shown` or else `toc_file`.
    """
    pages: list[Page] = []
    seen: set[str] = set()
    for entry, chapter in zip(entries, chapters(entries), strict=True):
        target = unquote(entry.target.split("#")[0])
        if not target or "://" in target:
            continue
        file = library.locate(folder_of(toc_file), target)
        if file is None or not file.lower().endswith(MARKDOWN_SUFFIXES):
            refusal = "" if file else library.refusal(folder_of(toc_file), target)
            problem = "is no Markdown file" if file else refusal or "missing"
            message = f"listed in the table of contents but {problem}: {target}"
            warnings.append(SourceWarning(message, shown or toc_file, entry.line))
        elif file not in seen:
            seen.add(file)
            pages.append(Page(file, page_url(file), entry.title, chapter))
    return pages


@dataclass(frozen=True, slots=True)
class SiteGenerator:
    """What the reader knows of a site generator: a line of the table in `book.py`."""

    open: Callable[[Library, str], Layout]
    """(the book's files, base URL or "") -> the site's pages."""
    is_used_in: Callable[[Library], bool]
    """Whether the folder holds the generator's configuration."""
    dialect: Dialect
    """Of a single file, without a configuration."""
    style: SlugStyle
