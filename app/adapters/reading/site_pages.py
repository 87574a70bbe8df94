"""A site's built pages in a folder: which are the book's, in which order, under which URLs."""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from app.adapters.reading.documents import PageInfo
from app.adapters.reading.page_facts import PageFacts, read_facts
from app.adapters.reading.repeated_pages import repeated_pages
from app.adapters.reading.site_addresses import Addresses, read_sitemaps, site_addresses
from app.adapters.reading.site_editions import find_editions
from app.adapters.reading.source_files import SourceFiles, by_numbers
from app.adapters.reading.table_of_contents import Entry, listed_pages
from app.adapters.reading.themes import UNKNOWN
from app.domain.document import SourceWarning
from app.domain.edition import ONLY, Edition
from app.domain.errors import BookError, FileRefused
from app.domain.urls import encoded_url

PAGE_SUFFIXES = (".html", ".htm", ".xhtml")
_ASSETS = frozenset({"_static", "_sources", "_images", "_downloads", "node_modules"})
_TITLE_PARTS = re.compile(r"\s+(?:\||-|–|—|·|::)\s+|\s*‣\s*")
UNLISTED = "not in the table of contents: list them in the site's navigation to have them read"
NO_TEXT = "a home page without text of its own"
FURNITURE = "search, error, tag and index pages"
REPEATED = "the same text is on other pages"
_FURNITURE = re.compile(
    r"(?:^|/)(?:40[34]|search|tags?|categories|authors|archive|genindex(?:-\w+)?|py-modindex)"
    r"(?:\.html?|/index\.html)$|(?:^|/)(?:_modules|tags?|categories|authors|archive)/"
)
"""Files of pages that are read only if the table of contents lists them."""


@dataclass(frozen=True, slots=True)
class SitePages:
    """The pages of one edition of a site, in reading order."""

    title: str
    base_url: str
    """The address of the edition, without a slash at its end."""
    language: str
    edition: Edition
    pages: tuple[PageInfo, ...]
    left_out: Mapping[str, Sequence[str]]
    """Files that are not read, by reason."""
    orphans: tuple[str, ...] = ()

    @property
    def site(self) -> str:
        """The name of the theme of most pages."""
        names = Counter(page.theme.name for page in self.pages)
        return names.most_common(1)[0][0]

    @property
    def warnings(self) -> list[SourceWarning]:
        return [
            SourceWarning(f"{counted(files)} left out: {reason}", files[0], 0)
            for reason, files in self.left_out.items()
        ]


def counted(pages: Sequence[str]) -> str:
    return "1 page" if len(pages) == 1 else f"{len(pages):,} pages"


def open_site_folder(
    folder: Path, base_url: str = "", *, skip_refused: bool = False
) -> tuple[SitePages, ...]:
    """Find the pages of a built site; return its editions, the default one first.

    `base_url` is the address of the folder, or of a part of the site: then only its pages are
    read. Instead of a folder it may be a single page, whose address is then `base_url`.

    BookError if there are no pages.
    FileRefused for a page over the reading budget; with `skip_refused` it is left out instead.
    """
    if folder.is_file():
        return (_single_page(folder, base_url),)
    left_out: dict[str, list[str]] = defaultdict(list, {UNLISTED: []})
    every = [*_facts(SourceFiles(folder), left_out, skip_refused=skip_refused)]
    if not every:
        message = "no built pages found: give the folder that holds the site's HTML files"
        raise BookError(message, str(folder))
    addresses = site_addresses(every, read_sitemaps(folder), base_url)
    inside = [page for page in every if page.file.startswith(addresses.part)]
    outside = (page.file for page in every if not page.file.startswith(addresses.part))
    left_out["outside the book's path"] += outside
    sites: list[SitePages] = []
    for root, (edition, pages) in find_editions(inside, addresses.file_of).items():
        url = addresses.url_of_folder(root or addresses.part)
        site = _Edition({page.file: page for page in pages}, addresses).site(edition, url)
        for reason, names in site.left_out.items() if not sites or not site.pages else ():
            left_out[reason] += names
        sites += [site] if site.pages else []
    found = {reason: files for reason, files in left_out.items() if files}
    if not sites:
        reasons = ", ".join(f"{len(files)} {reason}" for reason, files in found.items())
        raise BookError(f"no page of a book found ({reasons})", str(folder))
    return replace(sites[0], left_out=found), *sites[1:]


def _single_page(path: Path, base_url: str) -> SitePages:
    page = read_facts(SourceFiles(path.parent).data(path.name), path.name)
    own = page.canonical if page.canonical.startswith(("http://", "https://")) else ""
    url = encoded_url(base_url or own)
    info = PageInfo(page.file, url, language=page.language, theme=page.theme)
    return SitePages(site_title([page]), url, page.language, ONLY, (info,), {})


def _facts(
    files: SourceFiles, left_out: Mapping[str, list[str]], *, skip_refused: bool
) -> Iterator[PageFacts]:
    for file in _html_files(files.root):
        try:
            yield read_facts(files.data(file), file)
        except FileRefused:
            if not skip_refused:
                raise
            left_out["too large"].append(file)
        except BookError as error:
            left_out[error.problem].append(file)


def _html_files(folder: Path) -> list[str]:
    """Return the built pages below a folder, sorted, without assets and hidden files."""
    found = []
    for parent, folders, names in os.walk(folder):
        folders[:] = [one for one in folders if one not in _ASSETS and not one.startswith(".")]
        above = Path(parent).relative_to(folder)
        pages = (one for one in names if one.lower().endswith(PAGE_SUFFIXES))
        found += [(above / name).as_posix() for name in pages if not name.startswith(".")]
    return sorted(found, key=by_numbers)


class _Edition:
    """The pages of an edition by file, in the order in which links lead to them."""

    def __init__(self, files: Mapping[str, PageFacts], addresses: Addresses) -> None:
        self._addresses = addresses
        self._files = files
        top = min(files, key=lambda file: file.count("/"))
        self._home = top if PurePosixPath(top).stem == "index" else ""
        self._files = {file: files[file] for file in self._visited(top)}

    def _own(self, target: str) -> str:
        """Return the file of the edition that a link leads to; "" if none."""
        file = self._addresses.file_of(target)
        return file if file in self._files else ""

    def _visited(self, top: str) -> Iterator[str]:
        """Yield the files as links lead to them from the topmost, breadth first, then others."""
        waiting, seen = deque([top]), set[str]()
        for unlinked in ("", *self._files):
            waiting += [unlinked] if unlinked else []
            while waiting:
                file = waiting.popleft()
                if file not in seen:
                    seen.add(file)
                    yield file
                    found = map(self._own, self._files[file].all_links)
                    waiting += [one for one in found if one and one not in seen]

    def site(self, edition: Edition, base_url: str) -> SitePages:
        listed = {one.file: one for one in self._contents()}
        left_out = self._left_out(listed)
        order = [file for file in self._in_order(listed) if file not in left_out]
        left_out = dict.fromkeys(self._files, UNLISTED) | {self._home: NO_TEXT} | left_out
        kept = {*order}
        reasons: dict[str, list[str]] = {UNLISTED: []}
        for file in self._files:
            if file not in kept:
                reasons.setdefault(left_out[file], []).append(file)
        read = [page for file, page in self._files.items() if file in kept | {self._home}]
        title = site_title(read)
        pages = tuple(self._placed(one, title) for one in _in_chapters(order, listed))
        languages = Counter(page.language for page in pages if page.language)
        language = max(languages, key=lambda one: languages[one], default="")
        found = {reason: names for reason, names in reasons.items() if names}
        return SitePages(title, base_url, language, edition, pages, found)

    def _contents(self) -> list[PageInfo]:
        """Return the pages of the table of contents, that in the home page's text included."""
        distinct = {page.navigation for page in self._files.values()}
        resolved = {navigation: self._resolved(navigation) for navigation in distinct}
        own = {file: resolved[page.navigation] for file, page in self._files.items()}
        if self._home:
            own[""] = self._resolved(self._files[self._home].contents)
        return listed_pages(own)

    def _resolved(self, navigation: Sequence[Entry]) -> tuple[Entry, ...]:
        """Return the entries with files as targets, without those of other pages."""
        entries = [(one, self._own(one.target)) for one in navigation]
        return tuple(one._replace(target=file) for one, file in entries if file or not one.target)

    def _left_out(self, listed: Collection[str]) -> dict[str, str]:
        """Return why files are left out that are no pages of the book.

        If all pages are hidden from search engines, as in a preview or private book, they are read.
        """
        hides_some = any(one.is_indexed for one in self._files.values() if not one.redirect)
        found: dict[str, str] = {}
        for file, page in self._files.items():
            canonical = self._own(page.canonical)
            if page.redirect:
                found[file] = "redirect"
            elif canonical and canonical != file:
                found[file] = "duplicate"
            elif file not in listed and _FURNITURE.search(file):
                found[file] = FURNITURE
            elif hides_some and not page.is_indexed:
                found[file] = "noindex"
            elif file not in listed and not page.is_page:
                found[file] = "not of the book, such as a blog"
        kept = [page for file, page in self._files.items() if file not in found]
        return found | dict.fromkeys(repeated_pages(kept, listed), REPEATED)

    def _in_order(self, listed: Collection[str]) -> list[str]:
        """Return the home page, the table of contents, and what only links to the next page show.

        If no generator is known, the other pages follow as links lead to them.
        """
        order = [*listed]
        if self._home and self._home not in listed and self._has_own_text(listed):
            order.insert(0, self._home)
        if all(self._files[file].theme.name == UNKNOWN for file in listed):
            order += self._files
        known, found = {*listed}, dict[str, None]()
        for start in order:
            file = start
            while file and file not in found and (file == start or file not in known):
                found[file] = None
                file = self._own(self._files[file].next)
        return [*found]

    def _has_own_text(self, listed: Collection[str]) -> bool:
        """Whether the home page has text, and no listed page the same, as mdBook's first one."""
        own = self._files[self._home].paragraphs
        return bool(own) and own not in [self._files[file].paragraphs for file in listed]

    def _placed(self, listed: PageInfo, title: str) -> PageInfo:
        """Return a page with its address; the home page's title is that of the site."""
        page = self._files[listed.file]
        return replace(
            listed,
            url=self._addresses.url_of(page.file),
            title=listed.title or (title if page.file == self._home else ""),
            language=page.language,
            theme=page.theme,
        )


def _in_chapters(order: Sequence[str], listed: Mapping[str, PageInfo]) -> Iterator[PageInfo]:
    """Yield the pages with their chapters; one between two that are listed is in the first's."""
    last = max((at for at, file in enumerate(order) if file in listed), default=0)
    before = PageInfo("", "")
    for at, file in enumerate(order):
        unlisted = replace(before, file=file, title="") if at < last else PageInfo(file, "")
        before = listed.get(file, unlisted)
        yield before


def site_title(pages: Sequence[PageFacts]) -> str:
    """Return the site's title: its declared name, or what the titles of most pages share."""
    named = Counter(page.site_name for page in pages if page.site_name)
    parts = [_TITLE_PARTS.split(page.title) for page in pages if page.title]
    shared = Counter(one[at] for one in parts for at in {0, len(one) - 1})
    title, count = [*named.most_common(1), *shared.most_common(1), ("", 0)][0]
    is_shared = named or (count > 1 and 2 * count > len(parts))
    return title if is_shared or not pages else pages[0].title
