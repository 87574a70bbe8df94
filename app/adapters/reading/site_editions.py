"""The editions of a built site: which folders hold which version and locale."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from statistics import mode
from typing import NamedTuple

from app.adapters.reading.page_facts import PageFacts
from app.domain.edition import Edition

_VERSION = re.compile(
    r"(?:next|latest|stable|dev|devel|main|master|nightly|current|v?\d+(?:\.(?:\d+|x))+|v\d+)"
    r"(?:[-.]?(?:rc|alpha|beta)[\d.]*)?",
    re.I,
)
_LOCALE = re.compile(r"[a-z]{2,3}(?:[-_][a-z]{4})?(?:[-_](?:[a-z]{2}|\d{3}))?", re.I)
_DEEPEST = 3
"""Folders above a version's pages, such as `docs/next` in the folder of a locale."""
_LATEST = ("", "stable", "latest", "current", "main", "master")


class Root(NamedTuple):
    """The folder of an edition, relative to the site's; "" or with a slash at its end."""

    folder: str
    version: str = ""
    locale: str = ""


def find_editions(
    pages: Sequence[PageFacts], file_of: Callable[[str], str]
) -> dict[str, tuple[Edition, list[PageFacts]]]:
    """Return for the root folder of each edition its pages, the default edition first."""
    found: dict[Root, list[PageFacts]] = defaultdict(list)
    roots = _roots(pages, file_of)
    for page in pages:
        found[roots[page.file]].append(page)
    # A root without pages of its own only forwards to the newest version.
    held = [root for root, own in found.items() if not all(one.redirect for one in own)]
    newest = max((root.version for root in held), key=_newness, default="")
    several = len({root.version for root in held}) > 1
    forwards = [roots[file] for page in pages[:1] if (file := file_of(page.redirect))]
    default = (*forwards, *sorted(held), Root(""))[0].locale
    editions: dict[str, tuple[Edition, list[PageFacts]]] = {}
    for root, own in found.items():
        version = (root.version or _most(page.version for page in own)) if several else ""
        in_id = (
            version if root.version != newest else "",
            root.locale if root.locale != default else "",
        )
        editions[root.folder] = Edition(version, root.locale, in_id), own
    return dict(sorted(editions.items(), key=lambda one: one[1][0].in_id))


def _roots(pages: Sequence[PageFacts], file_of: Callable[[str], str]) -> dict[str, Root]:
    """Return the root of the edition that each file belongs to."""
    within = {page.file: _locale_folder(page) for page in pages}
    language = _most(page.language for page in pages if not within[page.file])
    if len({*within.values()}) == 1:
        within, language = dict.fromkeys(within, ""), ""
    versions = {file: _version_root(file, above) for file, above in within.items()}
    chapters: set[Root] = set()  # folders that one table of contents lists together
    for navigation in {page.navigation for page in pages}:
        files = {file_of(entry.target) for entry in navigation} - {""}
        listed = Counter(versions[file] for file in files)
        named_as_versions = {root for root in listed if root.version}
        # A link to another version is one; a chapter is listed page by page beside the others.
        page_by_page = {root for root, number in listed.items() if number > 1}
        if len(named_as_versions) > 1 or len(page_by_page) > 1:
            chapters |= named_as_versions
    for file, above in within.items():
        own = versions[file] if versions[file] not in chapters else Root(above)
        versions[file] = own._replace(locale=above.rstrip("/") or language)
    return versions


def _locale_folder(page: PageFacts) -> str:
    """Return the first folder if it is named by the page's language; "" if it is not."""
    top, slash, _ = page.file.partition("/")
    one, other = (text.lower().replace("_", "-") for text in (top, page.language))
    is_same = one == other or other.startswith(f"{one}-") or one.startswith(f"{other}-")
    return f"{top}/" if slash and is_same and _LOCALE.fullmatch(top) else ""


def _version_root(file: str, above: str) -> Root:
    """Return the folder with a version's name that the file is in; else the folder `above` it."""
    folders = file[len(above) :].split("/")[:-1]
    for at, name in enumerate(folders[:_DEEPEST], 1):
        if _VERSION.fullmatch(name):
            return Root(above + "".join(f"{one}/" for one in folders[:at]), name)
    return Root(above)


def _most(names: Iterable[str]) -> str:
    return mode([name for name in names if name not in ("", "current")] or [""])


def _newness(version: str) -> tuple[int, list[int]]:
    """Sort key: the version without a folder of its own, then stable ones, then by number."""
    rank = len(_LATEST) - _LATEST.index(version) if version in _LATEST else 0
    return rank, [int(one) for one in re.findall(r"\d+", version)]
