"""Folders of Markdown: which files are pages, in which order, under which URL."""

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from html import unescape
from pathlib import Path, PurePosixPath
from posixpath import join, normpath

from app.adapters.reading.documents import OpenedBook, PageInfo
from app.adapters.reading.markdown.generators import READERS, Facts
from app.adapters.reading.source_files import SourceFiles
from app.adapters.reading.table_of_contents import UNLISTED, listed_pages
from app.domain.characters import counted, is_well_formed
from app.domain.document import Site, SourceWarning
from app.domain.errors import BookError, InputError
from app.domain.urls import checked_base_url, encoded_path, encoded_url
from app.services.safe_paths import shown_name

_TABLES = tomllib.loads(Path(__file__).with_name("generators.toml").read_text("utf-8"))
_UNREAD: Mapping[str, str] = _TABLES["unread"]
_REPOSITORY = frozenset(_TABLES["repository"]["names"].split())
_UNREAD_SCRIPT = (
    "JavaScript is not read: give --base-url, the address of the pages of docs/, and "
    "sidebars.json, or the built site"
)


def recognised(files: SourceFiles, site: Site | None = None) -> tuple[Site, str]:
    """Return the generator of a folder's Markdown and its configuration, "" if it has none."""
    for kind, names in _TABLES["configurations"].items():
        config = next(filter(files.has, names), "")
        if site == kind or (site is None and config):
            return Site(kind), config
    return Site.PLAIN, ""


def open_sources(files: SourceFiles, site: Site | None, base_url: str, version: str) -> OpenedBook:
    """Open a folder. BookError, with what to do, if most pages are of formats that are not read.

    A `version` is served below the configured address, as mike does for MkDocs.
    """
    site, config = recognised(files, site)
    facts = READERS[site](files, config)
    warnings = [*_unread(files, len(facts.pages)), *_built_beside(files)]
    warnings += [] if config else _configured_below(files)
    try:
        configured = f"{facts.base_url.rstrip('/')}/{version}"
        base = (encoded_url(base_url) or _checked_address(configured)).rstrip("/")
    except InputError as error:
        base = ""
        warnings.append(SourceWarning(f"left out: {error}", config, 0))
    if site is Site.DOCUSAURUS and config and not (base and facts.entries):
        warnings.append(SourceWarning(_UNREAD_SCRIPT, config, 0))
    listed = _listed(files, facts)
    home = "index.html" if site is Site.PLAIN else ""  # the server stores its pages by their names
    names = {one.file for one in listed}
    names |= {one for one in facts.pages if PurePosixPath(one).name in _REPOSITORY}
    orphans = [join(facts.folder, name) for name in facts.pages if name not in names]
    return OpenedBook(
        site,
        facts.title,
        base,
        facts.language,
        [
            replace(
                one,
                file=join(facts.folder, one.file),
                chapter=join(facts.folder * (one.chapter in facts.pages), one.chapter),
                url=f"{base}/{encoded_path(facts.pages[one.file].lstrip('/') or home)}",
            )
            for one in listed
        ],
        {UNLISTED: orphans} if orphans else {},
        warnings=[*warnings, *files.warnings],
    )


def _checked_address(address: str) -> str:
    """Return a configured address, encoded. InputError unless it is of the web or a path."""
    is_path = address.startswith("/") and not address.startswith("//")
    return encoded_path(address) if is_path else checked_base_url(address)


def open_page(name: str, site: Site | None, base_url: str) -> OpenedBook:
    """Return a single file as a site; its URL is the base URL."""
    if not is_well_formed(name):
        raise BookError("the name is not UTF-8: rename the file", shown_name(name))
    kind = site or (Site.DOCUSAURUS if name.endswith(".mdx") else Site.PLAIN)
    return OpenedBook(kind, "", base_url, "", [PageInfo(name, base_url)])


def _unread(files: SourceFiles, pages: int) -> list[SourceWarning]:
    """Name the files of formats that are not read. BookError if they outnumber the `pages`."""
    unread = [name for name in files.names() if PurePosixPath(name.lower()).suffix in _UNREAD]
    if not unread:
        return []
    formats = sorted({_UNREAD[PurePosixPath(name.lower()).suffix] for name in unread})
    more = f" and {len(unread) - 1} more" if len(unread) > 1 else ""
    message = (
        f"{' and '.join(formats)} is not read ({shown_name(unread[0])}{more}): "
        "build the site and give its folder"
    )
    if len(unread) > pages:
        raise BookError(message, str(files.root))
    return [SourceWarning(message, "", 0)]


def _built_beside(files: SourceFiles) -> list[SourceWarning]:
    built = [one for one in _TABLES["output"]["folders"] if files.has(f"{one}/index.html")]
    message = "a built site lies in {}/: ingest that folder for what readers see"
    return [SourceWarning(message.format(one), "", 0) for one in built[:1]]


def _configured_below(files: SourceFiles) -> list[SourceWarning]:
    """Name a folder with a configuration, as of a repository whose book is in a part or that has
    one in each language.
    """
    names = [name for known in _TABLES["configurations"].values() for name in known]
    below = sorted(path for name in names for path in files.root.glob(f"*/{name}"))
    more = len({path.parent for path in below}) - 1
    which = f", also {counted(more, 'other folders')}: give one" if more else ": give that folder"
    return [SourceWarning(f"{one.parent.name}/ has {one.name}{which}", "", 0) for one in below[:1]]


def _listed(files: SourceFiles, facts: Facts) -> list[PageInfo]:
    """Return the pages in the order of the table of contents, with their chapters."""
    if facts.entries is None:
        pages = (name for name in facts.pages if PurePosixPath(name).name not in _REPOSITORY)
        return list(map(PageInfo, pages))
    known = {key: name for name in facts.pages for key in (name.rpartition(".")[0], name)}
    known |= {**facts.names, "": "", ".": known.get("README", known.get("index", ""))}
    entries = []
    for entry in facts.entries:
        name = known.get(normpath(entry.target.lstrip("/")) if entry.target else "")
        if name is None and "://" not in entry.target:
            files.refuse(entry.target, "listed in the contents, but no page that can be read")
        title = " ".join(unescape(entry.title).split())  # MkDocs' may have entities
        entries.append(entry._replace(title=title, target=name or ""))
    return listed_pages({"": entries})
