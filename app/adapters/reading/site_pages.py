"""A site's built pages in a folder: which are the book's, in which order, under which URLs."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path, PurePosixPath
from statistics import mode

from app.adapters.reading.documents import OpenedBook, PageInfo
from app.adapters.reading.page_facts import PageFacts, read_facts
from app.adapters.reading.shared_text import repeated_pages
from app.adapters.reading.site_addresses import Addresses, read_sitemaps
from app.adapters.reading.site_editions import find_editions
from app.adapters.reading.source_files import SourceFiles, by_numbers
from app.adapters.reading.table_of_contents import UNLISTED, Entry, listed_pages
from app.adapters.reading.themes import UNKNOWN
from app.domain.edition import Edition
from app.domain.errors import BookError, FileRefused
from app.domain.urls import encoded_url

PAGE_SUFFIXES = (".html", ".htm", ".xhtml")
_ASSET = re.compile(
    r"(?:^|/)(?:\.|(?:_static|_sources|_images|_downloads|site_libs|node_modules)/)"
)
_TITLE_PARTS = re.compile(r"\s+(?:\||-|–|—|·|::)\s+|\s*‣\s*")
_NAME_PARTS = 3
"""Most parts of a title that may be in the site's name."""
NO_TEXT = "a home page without text of its own"
REPEATED = "the same text is on other pages"
_FURNITURE = re.compile(
    r"(?:^|/)(?:40[34]|sitemap|genindex(?:-\w+)?|py-modindex|(search|tags?|categories|authors|archive))"
    r"(?:\.html?|/index\.html)$|(?:^|/)(?:_modules|tags?|categories|authors|archive|page/\d+)/"
)
"""Files of pages that are read only if the table of contents lists them."""
_SEARCH_TEXTS = 3
"""Maximum number of paragraphs of a page to search, as in Sphinx's, or of a list of pages."""


def open_site_folder(folder: Path, base_url: str = "") -> tuple[OpenedBook, ...]:
    """Find the pages of a built site; return its editions, the default one first.

    `base_url` is the address of the folder, or of a part of the site: then only its pages are
    read. Instead of a folder it may be a single page, whose address is then `base_url`.

    BookError if there are no pages. FileRefused for a page over the reading budget.
    """
    if folder.is_file():
        return (_single_page(folder, base_url),)
    left_out: dict[str, list[str]] = defaultdict(list, {UNLISTED: []})
    every = [*_facts(SourceFiles(folder), left_out)]
    if not every:
        message = "no built pages found: give the folder that holds the site's HTML files"
        raise BookError(message, str(folder))
    addresses = Addresses(every, read_sitemaps(folder), base_url)
    inside = [page for page in every if page.file.startswith(addresses.part)]
    outside = (page.file for page in every if not page.file.startswith(addresses.part))
    left_out["outside the book's path"] += outside
    books: list[OpenedBook] = []
    for root, (edition, pages) in find_editions(inside, addresses.file_of).items():
        url = addresses.url_of_folder(root or addresses.part)
        book = _Edition(pages, addresses).opened(edition, url)
        for reason, names in book.left_out.items() if not books else ():
            left_out[reason] += names
        books += [book] if book.pages else []
    found = {reason: files for reason, files in left_out.items() if files}
    if not books:
        reasons = ", ".join(f"{len(files)} {reason}" for reason, files in found.items())
        raise BookError(f"no page of a book found ({reasons})", str(folder))
    return replace(books[0], left_out=found), *books[1:]


def _single_page(path: Path, base_url: str) -> OpenedBook:
    page = read_facts(SourceFiles(path.parent).data(path.name), path.name)
    own = page.canonical if page.canonical.startswith(("http://", "https://")) else ""
    url = encoded_url(base_url or own)
    info = PageInfo(page.file, url, language=page.language, theme=page.theme)
    return OpenedBook(page.theme.name, site_title([page], page.title), url, page.language, [info])


def _facts(files: SourceFiles, left_out: Mapping[str, list[str]]) -> Iterator[PageFacts]:
    """Yield the facts of the built pages below a folder, without assets and hidden files."""
    paths = (path for path in files.root.rglob("*") if path.suffix.lower() in PAGE_SUFFIXES)
    names = [path.relative_to(files.root).as_posix() for path in paths]
    for name in sorted(names, key=by_numbers):
        if _ASSET.search(name):
            continue
        try:
            yield read_facts(files.data(name), name)
        except FileRefused:
            raise
        except BookError as error:
            left_out[error.problem].append(name)


class _Edition:
    """The pages of an edition by file, in the order in which links lead to them."""

    def __init__(self, pages: Sequence[PageFacts], addresses: Addresses) -> None:
        self._addresses = addresses
        self._files = {page.file: page for page in pages}
        top = min(self._files, key=lambda file: file.count("/"))
        self._home = self._own(top) if PurePosixPath(top.lower()).name.startswith("index.") else ""
        # What earlier builds left behind lists itself, but no link leads there from the home page.
        linked = self._visited([top] if self._home else [])
        self._files = {file: self._files[file] for file in self._visited([top, *self._files])}
        listed = self._contents(linked) or self._contents(self._files)
        self._listed = {one.file: one for one in listed}

    def _own(self, target: str) -> str:
        """Return the file of the edition that a link leads to, also by a redirect; "" if none."""
        file = self._addresses.file_of(target)
        if file in self._files and (redirect := self._files[file].redirect):
            file = self._addresses.file_of(redirect) or file
        return file if file in self._files else ""

    def _visited(self, starts: Iterable[str]) -> dict[str, None]:
        """Return the files as links lead to them from each of these, breadth first."""
        seen: dict[str, None] = {}
        for start in starts:
            waiting = [start]
            for file in waiting:  # it grows
                if file and file not in seen:
                    seen[file] = None
                    waiting += map(self._own, self._files[file].all_links)
        return seen

    def opened(self, edition: Edition, base_url: str) -> OpenedBook:
        in_order = self._in_order()
        not_read = self._not_read(in_order)
        order = {file: None for file in in_order if file not in not_read}
        reasons = dict.fromkeys(self._files, UNLISTED) | {self._home: NO_TEXT} | not_read
        left_out: dict[str, list[str]] = defaultdict(list)
        for file in [one for one in self._files if one not in order]:
            left_out[reasons[file]].append(file)
        read = [page for file, page in self._files.items() if file in order or file == self._home]
        title = site_title(read, self._files[self._home].title if self._home else "")
        pages = [*self._placed([*order], title)]
        return OpenedBook(
            mode([page.theme.name for page in pages] or [UNKNOWN]),
            title,
            base_url,
            mode([page.language for page in pages if page.language] or [""]),
            pages,
            left_out,
            edition,
        )

    def _contents(self, files: Iterable[str]) -> list[PageInfo]:
        """Return the pages that these files and the home page's text list as contents."""
        shown = {one: self._files[one].navigation for one in files if self._files[one].is_page}
        resolved = {navigation: self._resolved(navigation) for navigation in {*shown.values()}}
        own = {file: resolved[navigation] for file, navigation in shown.items()}
        if self._home:
            own[""] = self._resolved(self._files[self._home].contents)
        return listed_pages(own)

    def _resolved(self, navigation: Sequence[Entry]) -> tuple[Entry, ...]:
        """Return the entries with files as targets, without those of other pages."""
        entries = [(one, self._own(one.target)) for one in navigation]
        return tuple(one._replace(target=file) for one, file in entries if file or not one.target)

    def _not_read(self, in_order: Iterable[str]) -> dict[str, str]:
        """Return why files are left out that are no pages of the book.

        Pages that nothing lists repeat no text. If all pages are hidden from search engines, as in
        a preview or private book, they are read.
        """
        pages = [
            one for one in self._files.values() if not (one.redirect or self._is_furniture(one))
        ]
        hides_some = any(one.is_indexed for one in pages)
        found: dict[str, str] = {}
        for file, page in self._files.items():
            # GAPDoc writes each page a second time, with MathJax.
            canonical = self._own(page.canonical or file.replace(".html", "_mj.html"))
            if page.redirect:
                found[file] = "redirect"
            elif canonical and canonical != file:
                found[file] = "duplicate"
            elif self._is_furniture(page):
                found[file] = "search, error, tag and index pages"
            elif hides_some and not page.is_indexed:
                found[file] = "noindex"
            elif file not in self._listed and not page.is_page:
                found[file] = "not of the book, such as a blog"
        kept = [self._files[file] for file in in_order if file not in found]
        return found | dict.fromkeys(repeated_pages(kept, self._listed), REPEATED)

    def _is_furniture(self, page: PageFacts) -> bool:
        """Whether the page finds or lists others. A chapter called "search" has more text."""
        if page.is_index:
            return page.file != self._home
        name = _FURNITURE.search(page.file) if page.file not in self._listed else None
        is_chapter = len(page.paragraphs) > _SEARCH_TEXTS
        return name is not None and not (name[1] and is_chapter)

    def _in_order(self) -> dict[str, None]:
        """Return the home page, the table of contents, and what only links to the next page show.

        The home page may have the first page's text, as in mdBook. If no generator is known, the
        other pages follow as links lead to them.
        """
        starts = [*self._listed]
        own = self._files[self._home].paragraphs if self._home else ()
        if own and own not in [self._files[file].paragraphs for file in starts]:
            starts.insert(0, self._home)
        if all(self._files[file].theme.name == UNKNOWN for file in self._listed):
            starts += self._files
        found: dict[str, None] = {}
        for file in starts:
            following = file
            while following and following not in found:
                found[following] = None
                following = self._own(self._files[following].next)
                following = "" if following in self._listed else following
        return found

    def _placed(self, order: Sequence[str], site: str) -> Iterator[PageInfo]:
        """Yield the pages with addresses and chapters; the home page's title is that of the site.

        A page between two listed ones is in the chapter of the first.
        """
        last = max((at for at, file in enumerate(order) if file in self._listed), default=0)
        before = PageInfo("")
        for at, file in enumerate(order):
            unlisted = replace(before, file=file, title="") if at < last else PageInfo(file)
            before = self._listed.get(file, unlisted)
            yield replace(
                before,
                url=self._addresses.url_of(file),
                title=before.title or (site if file == self._home else ""),
                language=self._files[file].language,
                theme=self._files[file].theme,
            )


def site_title(pages: Sequence[PageFacts], home: str) -> str:
    """Return the site's declared name, else what most titles share, else the `home` page's."""
    if named := Counter(page.site_name for page in pages if page.site_name):
        return named.most_common(1)[0][0]
    titles = [page.title for page in pages if page.title]
    shared = Counter(chain.from_iterable(map(_site_names, titles)))
    name = max(shared, key=lambda one: (shared[one], len(one)), default="")
    return name if 1 < shared[name] > len(titles) / 2 else home


def _site_names(title: str) -> Iterable[str]:
    """Return what may be the site's name: a title's first part, its last ones, or all of it."""
    parts = [*_TITLE_PARTS.finditer(title)]
    if not parts:
        return [title.partition(": ")[0]]  # of "Owls: Eyes"
    last = (title[one.end() :] for one in parts[-_NAME_PARTS:])
    return dict.fromkeys((title[: parts[0].start()], title, *last))
