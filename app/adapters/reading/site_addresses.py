"""The addresses of a built site's pages: the URL of each file, and the file that a link means."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import unescape
from itertools import chain, zip_longest
from pathlib import Path
from urllib.parse import unquote, urlsplit

from app.adapters.reading.page_facts import PageFacts
from app.domain.urls import checked_base_url, encoded_path, encoded_url

_LOC = re.compile(r"<loc>(?:\s*<!\[CDATA\[)?([^<\]]*)")
_INDEX = re.compile(r"/?index\.x?html?$")
_SUFFIX = re.compile(r"\.x?html?$")
SITEMAP_BYTES = 50_000_000
"""The limit that sitemaps.org sets."""


def sitemap_urls(data: bytes) -> tuple[list[str], list[str]]:
    """Return the pages that a sitemap lists, and the further sitemaps. It may be compressed."""
    if data.startswith(b"\x1f\x8b"):
        try:
            data = zlib.decompressobj(16 + zlib.MAX_WBITS).decompress(data, SITEMAP_BYTES)
        except zlib.error:
            return [], []
    text = data[:SITEMAP_BYTES].decode("utf-8", "replace")
    found = [unescape(loc).strip() for loc in _LOC.findall(text)]
    return ([], found) if "<sitemapindex" in text else (found, [])


def read_sitemaps(folder: Path) -> list[str]:
    """Return the pages of the sitemaps in a site's folder, with those that an index names."""
    found = (file for file in sorted(folder.glob("sitemap*.xml*")) if file.is_file())
    return [url for file in found for url in sitemap_urls(file.read_bytes())[0]]


def paths_of(file: str) -> list[str]:
    """Return the paths under which servers show a file, the usual one of each kind first."""
    if not _INDEX.search(f"/{file}"):
        bare = _SUFFIX.sub("", file)
        return [file, bare, f"{bare}/"]
    folder = _INDEX.sub("", file)
    return [file, f"{folder}/", folder] if "/" in file else [file, ""]


@dataclass(frozen=True, slots=True)
class Addresses:
    """The addresses of a site's files.

    `base` is the URL of the site's folder as readers see it, `built` as its pages name it; both end
    with a slash. `part` is the folder of the pages to read, "" or with a slash at its end.
    """

    base: str
    built: str
    part: str
    by_path: Mapping[str, str]
    paths: dict[str, str] = field(default_factory=dict)
    """The path below the base under which each file was first found."""

    def file_of(self, target: str) -> str:
        """Return the file that a link, as of `page_facts.resolved`, leads to; "" if none."""
        for path in self._paths(target):
            file = self.by_path.get(unquote(path))
            if file is not None:
                self.paths.setdefault(file, path)
                return file
        return ""

    def _paths(self, target: str) -> Iterator[str]:
        if not target.startswith(("/", "http://", "https://")):
            if target:
                yield target.removeprefix("./")
            return
        for base in (self.built, self.base):
            root = urlsplit(base).path if target.startswith("/") else base
            if f"{target}/".startswith(root):
                yield target[len(root) :]
        if target.startswith("/"):
            yield target[1:]

    def url_of(self, file: str) -> str:
        path = self.paths.get(file, _INDEX.sub("/", f"/{file}").removeprefix("/"))
        return f"{self.base}{encoded_path(path)}"

    def url_of_folder(self, folder: str) -> str:
        """Return the URL of a folder, without a slash at its end."""
        return f"{self.base}{encoded_path(folder)}".rstrip("/")


def site_addresses(pages: Sequence[PageFacts], sitemap: Sequence[str], base_url: str) -> Addresses:
    """Find the addresses of the files by canonical links, sitemap and the given base URL.

    If none of them tells the site's address, the addresses are paths from the site's root.
    """
    by_path = _files_by_path([page.file for page in pages])
    given = f"{checked_base_url(base_url).rstrip('/')}/" if base_url else ""
    named = (page.canonical for page in pages if page.canonical.startswith("http"))
    built = _base_of(named, by_path) or _base_of(sitemap, by_path)
    if not (given or built):
        given = "/"  # links are paths
    part = given.removeprefix(built) if built and given.startswith(built) else ""
    if not any(page.file.startswith(part) for page in pages):
        part = ""
    found = Addresses(built if part else given or built, built or given, part, by_path)
    for page in pages:
        found.file_of(page.canonical)
    for url in sitemap:
        found.file_of(url)
    return found


def _files_by_path(files: Iterable[str]) -> dict[str, str]:
    ranked = zip_longest(*([(path, file) for path in paths_of(file)] for file in files))
    found: dict[str, str] = {}
    for path, file in filter(None, chain.from_iterable(ranked)):
        found.setdefault(path, file)
    return found


def _base_of(urls: Iterable[str], by_path: Mapping[str, str]) -> str:
    """Return the URL below which most of these pages are files of the folder; "" if none is."""
    hits: Counter[str] = Counter()
    for one in urls:
        url = f"{one.rstrip('/')}/"
        slash = url.find("/", url.find("://") + 3)
        while slash >= 0:
            if unquote(one[slash + 1 :]) in by_path:
                hits[url[: slash + 1]] += 1
            slash = url.find("/", slash + 1)
    return encoded_url(max(hits, key=lambda one: hits[one], default=""))
