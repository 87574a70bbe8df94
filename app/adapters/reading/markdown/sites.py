"""Folders of Markdown: which files are pages, in which order, under which URL.

Only what is simple and common of a site generator is read. For anything else its built site is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from posixpath import join, normpath
from typing import NamedTuple

from app.adapters.reading.documents import PageInfo
from app.adapters.reading.markdown.contents import summary_entries, yaml_entries
from app.adapters.reading.source_files import (
    SourceFiles,
    by_numbers,
    front_matter_of,
    page_names,
)
from app.adapters.reading.table_of_contents import Entry, Listed, listed_pages
from app.adapters.reading.yaml_files import read_yaml, well_formed_value
from app.domain.document import Site, SourceWarning
from app.domain.errors import BookError, InputError
from app.domain.reading_budget import read_toml
from app.domain.surrogates import is_well_formed
from app.domain.urls import checked_base_url, encoded_path, encoded_url
from app.services.safe_paths import shown_name

_NUMBER = re.compile(r"^\d+\s*[-_.]+\s*(?=[^\d\s])")
"""A number before a name of Docusaurus's; not that of a version or date."""
_UNREAD = {
    ".qmd": "Quarto", ".rst": "reStructuredText", ".rmd": "R Markdown", ".adoc": "AsciiDoc",
    ".asciidoc": "AsciiDoc", ".ptx": "PreTeXt",
}  # fmt: skip
_SCRIPT = re.compile(r"\.[mc]?[jt]s$")
_UNREAD_SCRIPT = (
    "JavaScript is not read: give --base-url, the address of the pages of docs/, and "
    "sidebars.json, or the built site"
)
_BUILDS = "build site book _build/html _site public dist docs/.vitepress/dist".split()
"""Where generators put the built site beside its sources."""


@dataclass(frozen=True, slots=True)
class SourceSite:
    """A folder of Markdown as a site."""

    site: Site
    title: str
    base_url: str
    language: str
    pages: Sequence[PageInfo]
    orphans: Sequence[str] = ()
    """Files that the table of contents does not list."""
    warnings: Sequence[SourceWarning] = ()


class Recognised(NamedTuple):
    site: Site
    config: str
    """The file of the generator's configuration; "" without one."""
    reason: str


@dataclass(frozen=True, slots=True)
class _Facts:
    """What a generator's configuration says."""

    folder: str
    """The folder of the pages."""
    entries: Sequence[Entry] | None = None
    """None: all pages, in the order of their names."""
    title: str = ""
    language: str = ""
    base_url: str = ""
    path_of: Callable[[str], str] = str
    """A page's file below `folder` -> its path below the base URL."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Other names of pages, such as Docusaurus's ids -> their files below `folder`."""
    order: Callable[[str], list[tuple[bool, str]]] = by_numbers


def open_sources(
    files: SourceFiles, site: Site | None, base_url: str, version: str = ""
) -> SourceSite:
    """Open a folder. BookError, with what to do, if it has no page that can be read.

    A `version` is served below the configured address, as mike does for MkDocs.
    """
    site, config, _ = recognised(files, site)
    facts = _READERS[site](files, config)
    warnings = _notes(files)
    configured = f"{facts.base_url.rstrip('/')}/{version}".rstrip("/")
    try:
        base = encoded_url(base_url) or _checked_address(configured)
    except InputError as error:
        base = ""
        warnings.append(SourceWarning(f"left out: {error}", config, 0))
    if _SCRIPT.search(config) and not (base and facts.entries):
        warnings.append(SourceWarning(_UNREAD_SCRIPT, config, 0))
    found = sorted(page_names(files, facts.folder), key=facts.order)
    listed = _listed(files, facts, found)
    pages = [_page(facts, one, base.rstrip("/")) for one in listed]
    if not pages:
        raise BookError(_nothing_found(files), str(files.root))
    orphans = [
        join(facts.folder, name) for name in found if name not in {one.file for one in listed}
    ]
    return SourceSite(
        site,
        facts.title or pages[0].title,
        base.rstrip("/"),
        facts.language,
        pages,
        orphans,
        warnings,
    )


def _checked_address(address: str) -> str:
    """Return a configured address, encoded. InputError unless it is of the web or a path."""
    is_path = address.startswith("/") and not address.startswith("//")
    return encoded_path(address) if is_path else checked_base_url(address)


def open_page(name: str, site: Site | None, base_url: str) -> SourceSite:
    """Return a single file as a site; its URL is the base URL."""
    if not is_well_formed(name):
        raise BookError("the name is not UTF-8: rename the file", shown_name(name))
    kind = site or (Site.DOCUSAURUS if name.endswith(".mdx") else Site.PLAIN)
    return SourceSite(kind, "", base_url, "", [PageInfo(name, base_url)])


def recognised(files: SourceFiles, site: Site | None = None) -> Recognised:
    """Return the generator of a folder's Markdown, its configuration, and why it is this one."""
    for kind, names in _CONFIGS.items():
        config = next((name for name in names if files.has(name)), "")
        if site is kind or (site is None and config):
            return Recognised(kind, config, f"it has {config}" if config else "as --site says")
    return Recognised(Site.PLAIN, "", "no generator's configuration")


def _nothing_found(files: SourceFiles) -> str:
    formats = {kind for suffix, kind in _UNREAD.items() if files.any_with(suffix)}
    if formats:
        return f"{' and '.join(sorted(formats))} is not read: build the site and give its folder"
    return "no text found: give the folder that holds the book's pages"


def _notes(files: SourceFiles) -> list[SourceWarning]:
    built = [one for one in _BUILDS if files.has(f"{one}/index.html")]
    message = "a built site lies in {}/: ingest that folder for what readers see"
    return [SourceWarning(message.format(one), "", 0) for one in built[:1]]


def _listed(files: SourceFiles, facts: _Facts, found: Sequence[str]) -> list[Listed]:
    """Return the pages in the order of the table of contents, with their chapters."""
    if facts.entries is None:
        return [Listed(name, "", "", 0) for name in found]
    without_suffix = {name.rpartition(".")[0]: name for name in found}
    known = {**without_suffix, **dict(zip(found, found, strict=True)), **facts.names, "": ""}
    entries = []
    for entry in facts.entries:
        name = known.get(normpath(entry.target.lstrip("/")) if entry.target else "")
        if name is None and "://" not in entry.target:
            files.refuse(entry.target, "listed in the contents, but no page that can be read")
        entries.append(entry._replace(target=name or ""))
    return listed_pages({"": entries})


def _page(facts: _Facts, listed: Listed, base: str) -> PageInfo:
    path = encoded_path(facts.path_of(listed.file).lstrip("/"))
    file = join(facts.folder, listed.file)
    return PageInfo(file, f"{base}/{path}", listed.title, listed.chapter, listed.chapter_number)


def _html_path(name: str) -> str:
    """`x.md` -> `x.html`; a README is its folder's index."""
    path = PurePosixPath(name)
    stem = "index" if path.stem.lower() == "readme" else path.stem
    return str(path.with_name(f"{stem}.html"))


def _folder_path(name: str) -> str:
    """`x.md` -> `x/`; an index or README is its folder."""
    path = PurePosixPath(name).with_suffix("")
    inside = path.parent if path.name.lower() in ("index", "readme") else path
    return "" if str(inside) == "." else f"{inside}/"


def _bare_path(name: str) -> str:
    return _folder_path(name).rstrip("/")


def _mdbook(files: SourceFiles, config: str) -> _Facts:
    settings = read_toml(files.settings(config).encode(), config) if config else {}
    book, html = _table(settings, "book"), _table(_table(settings, "output"), "html")
    folder = str(book.get("src") or "src") if files.has("src/SUMMARY.md") or book.get("src") else ""
    folder = "" if normpath(folder) == "." else folder
    summary = join(folder, "SUMMARY.md")
    if not files.has(summary):
        raise BookError("no SUMMARY.md: mdBook needs one as table of contents", summary)
    entries = list(summary_entries(files.settings(summary), numbered=True))
    url = str(html.get("site-url") or "")
    base = url if ":" in url else f"/{url.strip('/')}".rstrip("/")
    title, language = str(book.get("title") or ""), str(book.get("language") or "")
    return _Facts(folder, entries, title, language, base, _html_path)


def _mkdocs(files: SourceFiles, config: str) -> _Facts:
    settings = _settings(files, config)
    folder = str(settings.get("docs_dir") or "docs")
    nav = settings.get("nav")
    path_of = _html_path if settings.get("use_directory_urls") is False else _folder_path
    theme = settings.get("theme")
    language = str(theme.get("language") or "") if isinstance(theme, Mapping) else ""
    return _Facts(
        folder if files.has_folder(folder) else "",
        list(yaml_entries(nav)) if isinstance(nav, list) else None,
        str(settings.get("site_name") or ""),
        language,
        str(settings.get("site_url") or ""),
        path_of,
    )


def _myst(files: SourceFiles, config: str) -> _Facts:
    settings, book = _settings(files, config), _settings(files, "_config.yml")
    project = _table(settings, "project")
    listed = settings if config == "_toc.yml" else project.get("toc")
    return _Facts(
        "",
        list(yaml_entries(listed)) if listed else None,
        str(project.get("title") or book.get("title") or ""),
        base_url=_address(book),
        path_of=_bare_path if config == "myst.yml" else _html_path,
    )


def _plain(files: SourceFiles, config: str) -> _Facts:
    if config.endswith("_toctree.yml"):
        folder = config.rpartition("/")[0]
        listed = list(yaml_entries(read_yaml(files.settings(config), config)))
        locale = folder.rpartition("/")[2]
        return _Facts(folder, listed, path_of=lambda name: join(locale, _bare_path(name)))
    summary = next((one for one in ("SUMMARY.md", "src/SUMMARY.md") if files.has(one)), "")
    book = _settings(files, "_config.yml")
    entries = list(summary_entries(files.settings(summary))) if summary else None
    folder = summary.rpartition("/")[0]
    title = str(book.get("title") or "")
    return _Facts(folder, entries, title, base_url=_address(book), path_of=_html_path)


def _settings(files: SourceFiles, name: str) -> Mapping[str, object]:
    """Return the settings of a YAML file; {} if there is none or it is no table."""
    loaded = read_yaml(files.settings(name), name) if name and files.has(name) else {}
    return loaded if isinstance(loaded, Mapping) else {}


def _address(settings: Mapping[str, object]) -> str:
    """Return the site's address: `html.baseurl` of Jupyter Book, `url` and `baseurl` of Jekyll."""
    if html := _table(settings, "html"):
        return str(html.get("baseurl") or "")
    url = str(settings.get("url") or "")
    return url and f"{url.rstrip('/')}/{str(settings.get('baseurl') or '').lstrip('/')}"


def _docusaurus(files: SourceFiles, config: str) -> _Facts:
    root = config.rpartition("/")[0]
    site = _json_table(files, join(root, "site.json"))
    parts = (site.get("url"), site.get("baseUrl"), _table(site, "docs").get("routeBasePath"))
    folder = next(filter(files.has_folder, (join(root, "docs"), "docs")), "")
    docs = {name: front_matter_of(files, join(folder, name)) for name in page_names(files, folder)}
    sidebars = _json_table(files, join(root, "sidebars.json"))
    entries = [entry for one in sidebars.values() for entry in yaml_entries(one)]
    return _Facts(
        folder,
        entries or None,
        base_url="/".join(filter(None, (str(one or "").strip("/") for one in parts))),
        path_of=lambda name: _doc_path(name, docs[name]),
        names={_doc_id(name, front): name for name, front in docs.items()},
        order=lambda name: _doc_order(name, docs[name]),
    )


def _json_table(files: SourceFiles, file: str) -> Mapping[str, object]:
    """Return the settings of a JSON file; {} if there is none. BookError if it is not JSON."""
    try:
        loaded = well_formed_value(json.loads(files.settings(file))) if files.has(file) else {}
    except (ValueError, RecursionError) as error:
        raise BookError(f"is not JSON: {error}", file) from error
    return loaded if isinstance(loaded, Mapping) else {}


def _doc_id(name: str, front: Mapping[str, object]) -> str:
    """Return the id: the path without number prefixes, whose end front matter may name."""
    *above, last = (_NUMBER.sub("", one) for one in PurePosixPath(name).with_suffix("").parts)
    return "/".join([*above, str(front.get("id") or last)])


def _doc_path(name: str, front: Mapping[str, object]) -> str:
    """Return the path: its slug from the root, its folder for an index, else like its id."""
    above, slash, own = _doc_id(name, front).rpartition("/")
    *folders, last = PurePosixPath(name).with_suffix("").parts
    slug = str(front.get("slug") or "")
    if slug.startswith("/"):
        return slug.lstrip("/")
    is_index = _NUMBER.sub("", last).lower() in ("index", "readme") or last in folders[-1:]
    return f"{above}{slash}{'' if is_index and not slug else slug or own}"


def _doc_order(name: str, front: Mapping[str, object]) -> list[tuple[bool, str]]:
    position = front.get("sidebar_position")
    *above, last = by_numbers(name)
    return [*above, (True, f"{position:013.3f}") if isinstance(position, int | float) else last]


def _table(table: Mapping[str, object], key: str) -> Mapping[str, object]:
    value = table.get(key)
    return value if isinstance(value, Mapping) else {}


_CONFIGS: dict[Site, tuple[str, ...]] = {
    Site.DOCUSAURUS: tuple(
        f"{folder}{name}"
        for folder in ("", "website/")
        for name in ("site.json", *map("docusaurus.config.{}".format, ("js", "ts", "mjs", "cjs")))
    ),
    Site.MDBOOK: ("book.toml",),
    Site.MKDOCS: ("mkdocs.yml", "mkdocs.yaml"),
    Site.MYST: ("myst.yml", "_toc.yml"),
    Site.PLAIN: ("chapters/en/_toctree.yml", "_toctree.yml", "en/_toctree.yml", "SUMMARY.md"),
}  # fmt: skip
_READERS: dict[Site, Callable[[SourceFiles, str], _Facts]] = {
    Site.DOCUSAURUS: _docusaurus,
    Site.MDBOOK: _mdbook,
    Site.MKDOCS: _mkdocs,
    Site.MYST: _myst,
    Site.PLAIN: _plain,
}
