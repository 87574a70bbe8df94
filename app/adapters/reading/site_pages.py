"""A site's built pages in a folder: which are the book's, in which order, under which URLs."""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from app.adapters.reading.documents import PageInfo
from app.adapters.reading.page_facts import PageFacts, read_facts
from app.adapters.reading.site_addresses import Addresses, read_sitemaps, site_addresses
from app.adapters.reading.site_editions import Root, find_editions
from app.adapters.reading.source_files import SourceFiles, by_numbers
from app.adapters.reading.table_of_contents import Listed, TableOfContents
from app.adapters.reading.themes import UNKNOWN
from app.domain.document import SourceWarning
from app.domain.edition import ONLY, Edition
from app.domain.errors import BookError, FileRefused
from app.domain.urls import encoded_url

PAGE_BYTES = 50_000_000
PAGE_SUFFIXES = (".html", ".htm", ".xhtml")
_ASSETS = frozenset({"_static", "_sources", "_images", "_downloads", "node_modules"})
_TITLE_PARTS = re.compile(r"\s+(?:\||-|–|—|·|::)\s+")
UNLISTED = "not in the table of contents: list them in the site's navigation to have them read"
_FURNITURE = {
    "error page": r"(?:^|/)40[34](?:\.|/)",
    "search page": r"(?:^|/)search(?:\.html|/index\.html)$",
    "print page": r"(?:^|/)print(?:_page)?(?:\.html|/index\.html)$",
    "source listing": r"(?:^|/)_modules/",
    "tag or index page": r"(?:^|/)(?:tags?|categories|authors|archive|genindex(?:-\w+)?|"
    r"py-modindex)(?:\.|/)",
}
"""What a page that is not in the table of contents is, by its file's name."""


@dataclass(frozen=True, slots=True)
class SitePages:
    """The pages of one edition of a site, in reading order."""

    files: SourceFiles
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

    def read(self, page: PageInfo) -> bytes:
        return self.files.data(page.file, PAGE_BYTES)


def counted(pages: Sequence[str]) -> str:
    return "1 page" if len(pages) == 1 else f"{len(pages):,} pages"


def open_site_folder(
    folder: Path, base_url: str = "", *, skip_refused: bool = False
) -> tuple[SitePages, ...]:
    """Find the pages of a built site; return its editions, the default one first.

    `base_url` is the address of the folder, or of a part of the site: then only its pages are
    read. Instead of a folder it may be a single page, whose address is then `base_url`.

    BookError if there are no pages.
    FileRefused for a page of more than `PAGE_BYTES`; with `skip_refused` it is left out instead.
    """
    if folder.is_file():
        return (_single_page(folder, base_url),)
    left_out: dict[str, list[str]] = defaultdict(list, {UNLISTED: []})
    source = SourceFiles(folder)
    every = [*_facts(source, left_out, skip_refused=skip_refused)]
    if not every:
        message = "no built pages found: give the folder that holds the site's HTML files"
        raise BookError(message, str(folder))
    addresses = site_addresses(every, read_sitemaps(folder), base_url)
    inside = [page for page in every if page.file.startswith(addresses.part)]
    outside = (page.file for page in every if not page.file.startswith(addresses.part))
    left_out["outside the book's path"] += outside
    sites: list[SitePages] = []
    for root, (edition, pages) in find_editions(inside, addresses).items():
        files = {page.file: page for page in pages}
        site = _site(source, files, root, edition, addresses)
        for reason, names in site.left_out.items() if not sites or not site.pages else ():
            left_out[reason] += names
        sites += [site] if site.pages else []
    found = {reason: files for reason, files in left_out.items() if files}
    if not sites:
        reasons = ", ".join(f"{len(files)} {reason}" for reason, files in found.items())
        raise BookError(f"no page of a book found ({reasons})", str(folder))
    return replace(sites[0], left_out=found), *sites[1:]


def _single_page(path: Path, base_url: str) -> SitePages:
    files = SourceFiles(path.parent)
    page = read_facts(files.data(path.name, PAGE_BYTES), path.name)
    own = page.canonical if page.canonical.startswith(("http://", "https://")) else ""
    url = encoded_url(base_url or own)
    info = PageInfo(page.file, url, language=page.language, theme=page.theme)
    return SitePages(files, site_title([page]), url, page.language, ONLY, (info,), {})


def _facts(
    files: SourceFiles, left_out: Mapping[str, list[str]], *, skip_refused: bool
) -> Iterator[PageFacts]:
    for file in _html_files(files.root):
        try:
            yield read_facts(files.data(file, PAGE_BYTES), file)
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


def _site(
    source: SourceFiles,
    files: Mapping[str, PageFacts],
    root: Root,
    edition: Edition,
    addresses: Addresses,
) -> SitePages:
    """Make an edition of its files."""

    def own(target: str) -> str:
        file = addresses.file_of(target)
        return file if file in files else ""

    visited = [*_visited(files, own)]
    contents = TableOfContents()
    for file in visited:
        contents.add(files[file].navigation, own)
    listed = {one.file: one for one in contents.pages()}
    left_out = _left_out([files[file] for file in visited], listed, own)
    after = {file: own(page.next) for file, page in files.items()}
    before = {file: own(page.previous) for file, page in files.items()}
    order = [*_with_next([*listed], after, before)]
    others = [file for file in visited if file not in {*order, *left_out}]
    if all(files[file].theme.name == UNKNOWN for file in listed):
        order += _with_next(others, after, {})
    else:
        left_out |= dict.fromkeys(others, UNLISTED)
    read = [file for file in order if file not in left_out]
    pages = [_page(files[one.file], addresses, one) for one in _in_chapters(read, listed)]
    reasons: dict[str, list[str]] = {UNLISTED: []}
    for file, reason in left_out.items():
        reasons.setdefault(reason, []).append(file)
    languages = Counter(page.language for page in pages if page.language)
    return SitePages(
        source,
        site_title([files[page.file] for page in pages]),
        addresses.url_of_folder(root.folder or addresses.part),
        max(languages, key=lambda one: languages[one], default=""),
        edition,
        tuple(pages),
        {reason: names for reason, names in reasons.items() if names},
    )


def _visited(files: Mapping[str, PageFacts], own: Callable[[str], str]) -> Iterator[str]:
    """Yield the files as links lead to them from the topmost page, breadth first, then the rest."""
    waiting = deque(sorted(files, key=lambda file: file.count("/"))[:1])
    unlinked = iter(files)
    seen: set[str] = set()
    while waiting:
        file = waiting.popleft()
        if file not in seen:
            seen.add(file)
            yield file
            page = files[file]
            targets = [*(entry.target for entry in page.navigation), page.next, *page.links]
            waiting += [found for one in targets if (found := own(one)) and found not in seen]
        if not waiting:
            waiting += [one for one in (next(unlinked, ""),) if one]


def _left_out(
    pages: Sequence[PageFacts], listed: Collection[str], own: Callable[[str], str]
) -> dict[str, str]:
    """Return why files are left out that are no pages of the book.

    If all pages are hidden from search engines, as in a preview or a private book, they are read.
    """
    hides_some = any(page.is_indexed for page in pages if not page.redirect)
    found = {}
    for page in pages:
        file, canonical = page.file, own(page.canonical)
        named = (name for name, form in _FURNITURE.items() if re.search(form, file))
        if page.redirect:
            found[file] = "redirect"
        elif canonical and canonical != file:
            found[file] = "duplicate"
        elif file not in listed and (name := next(named, "")):
            found[file] = name
        elif hides_some and not page.is_indexed:
            found[file] = "noindex"
        elif file not in listed and not page.is_page:
            found[file] = "not of the book, such as a blog"
    return found


def _with_next(
    order: Sequence[str], after: Mapping[str, str], before: Mapping[str, str]
) -> Iterator[str]:
    """Yield the files in this order, and where they belong others that only neighbours show."""
    known, seen = {*order, ""}, set[str]()
    opening: dict[str, None] = {}
    first = before.get(order[0], "") if order else ""
    while first not in known and first not in opening:
        opening[first] = None
        first = before.get(first, "")
    for start in (*reversed(opening), *order):
        file = start
        while file not in seen and (file == start or file not in known):
            seen.add(file)
            yield file
            file = after.get(file, "")


def _in_chapters(order: Sequence[str], listed: Mapping[str, Listed]) -> Iterator[Listed]:
    """Yield the pages with their chapters.

    A page that is not listed is in the chapter of the page before it if it is in its folder.
    """
    before = Listed("", "", "", 0)
    for file in order:
        above = _place(file).rpartition("/")[0]
        own = above and above in (_place(before.file), _place(before.file).rpartition("/")[0])
        inherited = before._replace(file=file, title="") if own else Listed(file, "", "", 0)
        before = listed.get(file, inherited)
        yield before


def _place(file: str) -> str:
    return file.removesuffix("/index.html")


def _page(page: PageFacts, addresses: Addresses, listed: Listed) -> PageInfo:
    return PageInfo(
        page.file,
        addresses.url_of(page.file),
        listed.title,
        listed.chapter,
        listed.chapter_number,
        page.language,
        page.theme,
    )


def site_title(pages: Sequence[PageFacts]) -> str:
    """Return the site's title: its declared name, or what the titles of most pages share."""
    named = Counter(page.site_name for page in pages if page.site_name)
    parts = [_TITLE_PARTS.split(page.title) for page in pages if page.title]
    shared = Counter(one[at] for one in parts for at in {0, len(one) - 1})
    title, count = [*named.most_common(1), *shared.most_common(1), ("", 0)][0]
    is_shared = named or (count > 1 and 2 * count > len(parts))
    return title if is_shared or not pages else pages[0].title
