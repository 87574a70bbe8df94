"""The addresses of a built site's pages: the URL of each file, and the file that a link means."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import unescape
from itertools import chain
from pathlib import Path
from urllib.parse import unquote, urlsplit

from app.adapters.reading.page_facts import PageFacts
from app.domain.urls import checked_base_url, encoded_path, encoded_url, is_web_address

_NO_ADDRESS = re.compile(r"https?://(?:localhost\b|[^/]*@)")
"""Begins a link to the computer that built the site, as of mystmd, or one with a user's name."""
_LOC = re.compile(r"<loc>(?:\s*<!\[CDATA\[)?([^<\]]*)")
_SUFFIX = re.compile(r"\.x?html?$", re.I)
SITEMAP_BYTES = 50_000_000
"""The limit that sitemaps.org sets."""


def sitemap_urls(data: bytes) -> tuple[list[str], list[str]]:
    """Return the pages that a sitemap lists, and the further sitemaps."""
    text = data.decode("utf-8", "replace")
    found = [unescape(loc).strip() for loc in _LOC.findall(text)]
    return ([], found) if "<sitemapindex" in text else (found, [])


def read_sitemaps(folder: Path) -> list[str]:
    """Return the pages of the sitemaps in a site's folder, with those that an index names."""
    found = (file for file in sorted(folder.glob("sitemap*.xml")) if file.is_file())
    return [url for file in found for url in sitemap_urls(file.read_bytes())[0]]


class Addresses:
    """The addresses of a site's files, by canonical links, sitemap, links and the given base URL.

    If none of them tells the site's host, they are paths.
    """

    def __init__(self, pages: Sequence[PageFacts], sitemap: Sequence[str], base_url: str) -> None:
        files = [page.file for page in pages]
        self._files = {file: file for file in files}
        """The file that a server shows under each path below the site's folder."""
        for paths in zip(*map(_paths_of, files), strict=True):
            for path, file in zip(paths, files, strict=True):
                self._files.setdefault(path, file)
        canonical = [page.canonical for page in pages]
        links = [link for page in pages for link in page.all_links]
        given = f"{checked_base_url(base_url).rstrip('/')}/" if base_url else ""
        others = [*sitemap, *(page.redirect for page in pages)]
        built = _base_of(canonical, self._files, "http") or _base_of(others, self._files, "http")
        part = given.removeprefix(built) if built and given.startswith(built) else ""
        self.part = part if any(page.file.startswith(part) for page in pages) else ""
        """The folder of the pages to read, "" or with a slash at its end."""
        rooted = _base_of(links, self._files, "/") or "/"
        self._base = built if self.part else given or built or rooted
        """The URL of the site's folder as readers see it, or its path; with a slash at its end."""
        hosts = [one for one in (built, given) if one]
        self._prefixes = [*hosts, *(urlsplit(one).path for one in hosts), rooted, "/"]
        """What links to the site's folder begin with, with a slash at the end."""
        self._paths: dict[str, str] = {}
        """The path under which the site itself knows a file."""
        for target in chain(canonical, sitemap, links):
            path = self._path_of(target)
            if path is not None:
                self._paths.setdefault(self._files[path], path)

    def _path_of(self, target: str) -> str | None:
        """Return the path that a link, as of `page_facts.resolved`, means; None if no file's."""
        if target.startswith(("/", "http://", "https://")):
            paths = [
                unquote(target[len(prefix) :])
                for prefix in self._prefixes
                if f"{target}/".startswith(prefix)
            ]
        else:
            paths = [unquote(target).removeprefix("./")] if target else []
        return next(filter(self._files.__contains__, paths), None)

    def file_of(self, target: str) -> str:
        """Return the file that a link leads to; "" if none."""
        path = self._path_of(target)
        return "" if path is None else self._files[path]

    def url_of(self, file: str) -> str:
        return f"{self._base}{encoded_path(self._paths.get(file) or _paths_of(file)[0])}"

    def url_of_folder(self, folder: str) -> str:
        """Return the URL of a folder, without a slash at its end."""
        return f"{self._base}{encoded_path(folder)}".rstrip("/")


def _paths_of(file: str) -> tuple[str, str, str]:
    """Return the paths under which servers show a file, the usual one first."""
    bare = _SUFFIX.sub("", file)
    folder, _, name = bare.rpartition("/")
    if name == "index":
        return (f"{folder}/", file, folder) if folder else ("", file, "/")
    return file, bare, f"{bare}/"


def _base_of(links: Iterable[str], by_path: Mapping[str, str], start: str) -> str:
    """Return the beginning of links, up to a slash, below which most of them are files of the site.

    Only links that begin with `start` count. "" if none is.
    """
    hits: Counter[str] = Counter()
    for link in links:
        if link.startswith(start) and not _NO_ADDRESS.match(link):
            url = link if _SUFFIX.search(link) else f"{link.rstrip('/')}/"
            slash = url.find("/", url.find("://") + 3 if "://" in url else 0)
            while slash >= 0:
                hits[url[: slash + 1]] += unquote(link[slash + 1 :]) in by_path
                slash = url.find("/", slash + 1)
    best = max(hits, key=lambda one: hits[one], default="")
    return encoded_url(best) if hits[best] and (start == "/" or is_web_address(best)) else ""
