"""Opens a site: the steps that all generators share, and the table of what each supplies."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import unquote

from app.adapters.markdown.book_files import BookFiles
from app.adapters.markdown.folder_files import MARKDOWN_SUFFIXES, PAGE_SUFFIXES, page_files
from app.adapters.markdown.parser.anchors import SlugStyle
from app.adapters.markdown.parser.dialect import CrossReferences, Dialect
from app.adapters.markdown.source import make_source
from app.domain.document import Site, SourceWarning
from app.domain.edition import ONLY, Edition
from app.domain.errors import FileRefused, InputError
from app.domain.notebooks import is_notebook
from app.domain.urls import checked_base_url, encoded_path, encoded_url

_PART = re.compile(r"(?:part|unit|volume|book|module|(?:front|back) ?matter|appendi)", re.I)


@dataclass(frozen=True, slots=True)
class SitePage:
    """A source file with its URL and its chapter."""

    file: str
    url: str
    title: str = ""
    """Title in the table of contents; "" if none."""
    chapter: str = ""
    language: str = ""
    chapter_number: int = 0
    """The number that the site shows for the chapter; 0 if none."""
    chapter_file: str = ""
    """The chapter's first page, whose title is the name if `chapter` is ""; "" if unknown."""


@dataclass(frozen=True, slots=True)
class TocEntry:
    """One line of a table of contents; `target` is "" for a heading without a page.

    Parts have depth 0; chapters, in a part or not, have depth 1.
    """

    target: str
    title: str
    depth: int
    line: int = 0
    numbered: bool = False
    """Whether the site numbers it."""


@dataclass(frozen=True, slots=True)
class TableOfContents:
    """The entries of a table of contents; targets are relative to `folder`."""

    entries: Sequence[TocEntry]
    folder: str
    file: str
    """The file that lists them."""


@dataclass(frozen=True, slots=True)
class SiteSettings:
    """A site's settings that determine its pages and URLs."""

    base_url: str
    title: str = ""
    language: str = ""
    """A language tag such as `pt-BR`; "" if the site does not set it."""
    folder: str = ""
    """The folder that holds the pages, relative to the book's."""
    path_of: Callable[[str], str] = str
    """A page's file, relative to `folder` -> its path after the base URL."""
    contents: TableOfContents | None = None
    """If None, all pages are read, in the order of `sort_key`."""
    sort_key: Callable[[str], Any] = str
    pages: Sequence[SitePage] | None = None
    """The listed pages in order, if the generator finds them itself."""
    every_page: Sequence[SitePage] | None = None
    """All pages, if they differ from the files of `folder` with these suffixes."""
    site_root: str = ""
    """The folder that `@site/` names, relative to the book's."""
    dialect: Dialect | None = None
    """The generator's dialect as this site configures it."""
    style: SlugStyle | None = None
    notebook_style: SlugStyle | None = None
    references: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """Link definitions for every page, in markdown-it's format."""
    reference_files: frozenset[str] = frozenset()
    """The files that contain `references`."""
    cross_references: CrossReferences | None = None
    """Resolves roles such as `{numref}`, if the dialect has them."""
    substitutions: Mapping[str, str] = field(default_factory=dict)
    """Key -> the source of the text that the key shows on every page."""
    editions: Mapping[Edition, Callable[[], SiteSettings]] = field(default_factory=dict)
    """The settings of each edition, the default one first; empty for a site with one. These are the
    default edition's."""
    suffixes: tuple[str, ...] = MARKDOWN_SUFFIXES
    """The suffixes of the files that are pages."""
    configured_folder: str = ""
    """The folder of the pages as the configuration names it, possibly outside the book's; "" if it
    names none."""


def files_beside(path: str, folder: str, root: str) -> Sequence[str]:  # noqa: ARG001
    """Return the source file that a path in `folder` names; none if it names no page's source."""
    return [f"{folder}/{path}"] if path.endswith(PAGE_SUFFIXES) else []


@dataclass(frozen=True, slots=True)
class SiteGenerator:
    """A site generator: one entry of the table in `opening.py`."""

    site: Site
    dialect: Dialect
    style: SlugStyle
    find_config: Callable[[BookFiles], str | None]
    """Returns the generator's configuration in the folder; None or "" if it holds none."""
    read_settings: Callable[[BookFiles, str, list[SourceWarning]], SiteSettings]
    """`read(the book's files, --base-url or "", warnings)`."""
    link_files: Callable[[str, str, str], Sequence[str]] = files_beside
    """`link_files(path, folder, pages' folder)` -> the source files that a link may mean."""
    links_by_label: bool = False
    """Whether a link may name a label of another page without naming the page."""
    find_config_below: Callable[[BookFiles], str | None] = lambda _: None
    """The same in the folder's own folders: searched only in a folder that is given."""
    notebook_style: SlugStyle | None = None
    """The style of notebooks, if it differs."""
    is_unsearchable: Callable[[dict[str, object]], bool] = lambda _: False
    """Whether a page's front matter excludes it from the site's search; such a page is not read."""


@dataclass(frozen=True, slots=True)
class Layout:
    """A book's folder as its site generator sees it."""

    generator: SiteGenerator
    settings: SiteSettings
    pages: tuple[SitePage, ...]
    orphans: tuple[SitePage, ...] = ()
    """Pages that the table of contents does not list."""
    warnings: tuple[SourceWarning, ...] = ()

    @property
    def dialect(self) -> Dialect:
        return self.settings.dialect or self.generator.dialect

    def style_of(self, file: str) -> SlugStyle:
        """Return how the site makes anchors of the headings in a file."""
        of_notebooks = self.settings.notebook_style or self.generator.notebook_style
        own = of_notebooks if is_notebook(file) else None
        return own or self.settings.style or self.generator.style


def open_site(
    generator: SiteGenerator, book_files: BookFiles, base_url: str, edition: Edition = ONLY
) -> Layout:
    """Read an edition of the site in a book's folder; a given `base_url` takes precedence.

    For a site with one version, any other version is served at `<base URL>/<its name>`, as `mike`
    does.
    """
    warnings: list[SourceWarning] = []
    settings = generator.read_settings(book_files, base_url.rstrip("/"), warnings)
    settings = _of_edition(generator, book_files, settings, edition)
    settings = replace(settings, language=re.split("[-_]", settings.language)[0])
    folder, contents = settings.folder, settings.contents

    def page_url(file: str) -> str:
        return join_url(settings.base_url, settings.path_of(inside(folder, file)))

    every = settings.every_page
    if every is None:
        files = page_files(book_files, folder, settings.suffixes)
        every = [SitePage(file, page_url(file)) for file in files]
    pages = settings.pages
    if pages is None and contents is not None:
        pages = _listed_pages(contents, book_files, settings.suffixes, page_url, warnings)
    elif pages is None:
        pages = sorted(every, key=lambda page: settings.sort_key(page.file))
    taken = {page.file for page in pages} | {contents.file if contents else ""}
    return Layout(
        generator,
        settings,
        tuple(pages),
        tuple(page for page in every if page.file not in taken),
        tuple(warnings),
    )


def _of_edition(
    generator: SiteGenerator, book_files: BookFiles, settings: SiteSettings, edition: Edition
) -> SiteSettings:
    if edition in settings.editions:
        return settings.editions[edition]()
    if not any(edition.in_id):
        return settings
    own = replace(edition, version="", in_id=("", edition.in_id[1]))
    named = (edition.version, "" if own in settings.editions else edition.locale)
    address = join_url(settings.base_url, "/".join(filter(None, named)))
    settings = generator.read_settings(book_files, address, [])
    return settings.editions[own]() if own in settings.editions else settings


def content_folder(book_files: BookFiles) -> str:
    """Return the folder of a site's pages if Next.js or Astro finds them there; else ""."""
    folders = ("src/content/docs", "src/content")
    return next((folder for folder in folders if page_files(book_files, folder)), "")


def chapters(entries: Sequence[TocEntry]) -> list[TocEntry]:
    """Return for each entry the one that names its chapter.

    It is the topmost ancestor with a page, else the entry's group, else the entry itself. A part
    ("Unit 2", or any entry of depth 0) is not a chapter.
    """
    result: list[TocEntry] = []
    stack: list[TocEntry] = []
    for entry in entries:
        while stack and stack[-1].depth >= entry.depth:
            stack.pop()
        linked = (above for above in stack if above.target and (above.title or above.depth))
        group = stack[-1] if stack and _is_group(stack[-1]) else entry
        result.append(next(linked, group))
        stack.append(entry)
    return result


def _chapter_numbers(entries: Sequence[TocEntry]) -> Iterator[int]:
    """Yield for each entry the number that the site shows for its chapter; 0 if none."""
    count = number = 0
    for entry in entries:
        if entry.depth <= 1:
            count += entry.numbered
            number = count if entry.numbered else 0
        yield number


def _is_group(entry: TocEntry) -> bool:
    is_part = entry.depth == 0 or (not entry.target and _PART.match(entry.title))
    return bool(entry.title) and not is_part


def join_url(base: str, path: str, *, encoded: bool = False) -> str:
    """Join a base URL and a path, percent-encoded.

    `encoded`: the path may be percent-encoded already. In a file's path `%` is a literal.
    """
    trimmed = path.lstrip("/")
    literal = trimmed if encoded else trimmed.replace("%", "%25")
    return f"{encoded_url(base.rstrip('/'))}/{encoded_path(literal)}"


def configured_base(url: object, file: str, text: str, warnings: list[SourceWarning]) -> str:
    """Return the URL in a site's configuration; "" and a warning if it is invalid.

    `text` is the content of the configuration `file`.
    """
    given = str(url or "")
    try:
        return checked_base_url(given).rstrip("/")
    except InputError as error:
        warnings.append(SourceWarning(f"{error}; left out", file, line_of(text, given)))
        return ""


def _listed_pages(
    contents: TableOfContents,
    book_files: BookFiles,
    suffixes: tuple[str, ...],
    page_url: Callable[[str], str],
    warnings: list[SourceWarning],
) -> list[SitePage]:
    """Return a page for each entry whose file exists, each file once, in order."""
    pages: dict[str, SitePage] = {}
    entries = contents.entries
    named = zip(entries, chapters(entries), _chapter_numbers(entries), strict=True)
    for entry, chapter, number in named:
        target = _path_of(entry)
        if not target or "://" in target:
            continue
        file = book_files.locate(contents.folder, target)
        if file is None or not file.lower().endswith(suffixes):
            refusal = book_files.refusal(contents.folder, target)
            problem = why_not_read(file) if file else refusal or "missing"
            message = f"listed in the table of contents but {problem}: {target}"
            warnings.append(SourceWarning(message, contents.file, entry.line))
        elif file not in pages:
            pages[file] = SitePage(
                file,
                page_url(file),
                entry.title,
                chapter.title,
                chapter_number=number,
                chapter_file=book_files.locate(contents.folder, _path_of(chapter)) or "",
            )
    return list(pages.values())


def _path_of(entry: TocEntry) -> str:
    return unquote(entry.target.split("#")[0])


def why_not_read(file: str) -> str:
    """Return why a listed file is not read."""
    return "is a notebook: not read" if is_notebook(file) else "is no Markdown file"


def inside(folder: str, file: str) -> str:
    """Return a file's path relative to a folder that holds it."""
    return file[len(folder) + 1 :] if folder else file


def under(folder: str, name: str) -> str:
    """Return the path of `name` in a folder; "" is the book's own."""
    return f"{folder}/{name}" if folder else name


def front_matter(book_files: BookFiles, file: str) -> dict[str, object]:
    """Return the front matter of a page that is not read yet; {} if it cannot be read."""
    try:
        text = book_files.text(file) or ""
        if not text[:4].strip("\ufeff").startswith("---"):
            return {}
        return make_source(text[: text.find("\n---", 3) + 8], file).front_matter
    except FileRefused:
        return {}  # refused again when it is read as a page


def table(config: object, *names: str) -> dict[str, object]:
    """Return the nested table at this path of names in a configuration; {} if there is none."""
    for name in names:
        config = config.get(name) if isinstance(config, dict) else None
    return config if isinstance(config, dict) else {}


def names(value: object) -> list[str]:
    """Return the names in a configured value, which is one name or several."""
    if isinstance(value, set):
        return sorted(str(item) for item in value if item)
    return [str(item) for item in (value if isinstance(value, (list, tuple)) else [value]) if item]


def line_of(text: str, words: str) -> int:
    """Return the first line, from 1, that contains `words`; 1 if none does."""
    return text.count("\n", 0, max(text.find(words), 0)) + 1
