"""The editions of a built site: which folders hold which version and locale."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from app.adapters.reading.page_facts import PageFacts
from app.adapters.reading.site_addresses import Addresses
from app.domain.edition import Edition

_VERSION = re.compile(
    r"(?:next|latest|stable|dev|devel|main|master|nightly|current|v?\d+(?:\.(?:\d+|x))+|v\d+)"
    r"(?:[-.]?(?:rc|alpha|beta)[\d.]*)?",
    re.I,
)
_LOCALE = re.compile(r"[a-z]{2,3}(?:[-_][a-z]{4})?(?:[-_](?:[a-z]{2}|\d{3}))?", re.I)
_DEEPEST = 3
"""Folders above a version's pages, such as `fr/docs/next`."""
_LATEST = ("", "stable", "latest", "current", "main", "master")


@dataclass(frozen=True, slots=True)
class Root:
    """The folder of an edition, relative to the site's; "" or with a slash at its end."""

    folder: str
    version: str = ""
    locale: str = ""


def find_editions(
    pages: Sequence[PageFacts], addresses: Addresses
) -> dict[Root, tuple[Edition, list[PageFacts]]]:
    """Return the edition of each root folder and its pages, the default edition first."""
    locales = _locale_folders(pages, addresses)
    within = {page.file: _folder_of(page.file, locales) for page in pages}
    versions = _version_folders(pages, within, addresses)
    found: dict[Root, list[PageFacts]] = defaultdict(list)
    for page in pages:
        folder, version = versions.get(page.file, (within[page.file], ""))
        found[Root(folder, version, locales.get(within[page.file], ""))].append(page)
    # A root without pages of its own only forwards to the newest version.
    held = {root.version for root, own in found.items() if not all(one.redirect for one in own)}
    newest, has_versions = max(held, key=_newness, default=""), len(held) > 1
    default = _default_locale(pages, locales)
    editions: dict[Root, tuple[Edition, list[PageFacts]]] = {}
    for root, own in found.items():
        version = root.version or _declared_version(own) if has_versions else ""
        in_id = (
            version if root.version != newest else "",
            root.locale if root.locale != default else "",
        )
        editions[root] = Edition(version, root.locale, in_id), own
    return dict(sorted(editions.items(), key=lambda one: one[1][0].in_id))


def _folder_of(file: str, folders: Iterable[str]) -> str:
    return max((one for one in folders if file.startswith(one)), key=len, default="")


def _locale_folders(pages: Iterable[PageFacts], addresses: Addresses) -> dict[str, str]:
    """Return the locale of each folder that is the root of one; empty if there is only one.

    A locale is a translation that a home page names by `hreflang`, or a first folder that is
    named by the language of its pages.
    """
    languages: dict[str, Counter[str]] = defaultdict(Counter)
    translations: dict[str, str] = {}
    for page in pages:
        top, slash, rest = page.file.partition("/")
        is_locale = slash and _LOCALE.fullmatch(top) and _is_same(top, page.language)
        languages[f"{top}/" if is_locale else ""][top if is_locale else page.language] += 1
        if page.file == "index.html" or (is_locale and rest == "index.html"):
            for tag, url in page.alternates:
                folder, name, _ = addresses.file_of(url).partition("index.html")
                if name and tag.lower() != "x-default":
                    translations.setdefault(folder, tag)
    named = {folder: tags.most_common(1)[0][0] for folder, tags in languages.items()}
    return found if len(found := named | translations) > 1 else {}


def _is_same(folder: str, language: str) -> bool:
    """Whether a folder's name is a language, with or without the region."""
    one, other = (text.lower().replace("_", "-") for text in (folder, language))
    return one == other or other.startswith(f"{one}-") or one.startswith(f"{other}-")


def _version_folders(
    pages: Iterable[PageFacts], within: Mapping[str, str], addresses: Addresses
) -> dict[str, tuple[str, str]]:
    """Return the root folder and the version of each file that is in a version's folder.

    The folder has a version's name, and no table of contents lists its pages together with those
    of another such folder: else it is a chapter.
    """
    found: dict[str, tuple[str, str]] = {}
    for page in pages:
        above = within[page.file]
        folders = page.file[len(above) :].split("/")[:-1][:_DEEPEST]
        at = next((at for at, one in enumerate(folders) if _VERSION.fullmatch(one)), None)
        if at is not None:
            root = above + "".join(f"{one}/" for one in folders[: at + 1])
            found[page.file] = root, folders[at]
    chapters: set[str] = set()
    for navigation in {page.navigation for page in pages}:
        files = (addresses.file_of(entry.target) for entry in navigation)
        listed = {found.get(file, ("", ""))[0] for file in files if file}
        chapters |= listed if len(listed) > 1 else set()
    return {file: one for file, one in found.items() if one[0] not in chapters}


def _declared_version(pages: Iterable[PageFacts]) -> str:
    said = Counter(page.version for page in pages if page.version not in ("", "current"))
    return max(said, key=lambda one: said[one], default="")


def _default_locale(pages: Iterable[PageFacts], locales: Mapping[str, str]) -> str:
    """Return the locale at the site's root, or the one that the root forwards to."""
    home = next((page.redirect for page in pages if page.file == "index.html"), "")
    target = f"{home.removeprefix('/').partition('/')[0]}/"
    return locales.get(target) or locales.get("") or next(iter(locales.values()), "")


def _newness(version: str) -> tuple[int, list[int]]:
    """Sort key: the version without a folder of its own, then stable ones, then by number."""
    rank = len(_LATEST) - _LATEST.index(version) if version in _LATEST else 0
    return rank, [int(one) for one in re.findall(r"\d+", version)]
