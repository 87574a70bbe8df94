"""What each site generator's configuration says: its pages, their order and addresses.

Only what is simple and common is read. For anything else the built site is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from posixpath import join

from app.adapters.reading.markdown.contents import summary_entries, yaml_entries
from app.adapters.reading.source_files import SourceFiles, by_numbers, front_matter_of, page_names
from app.adapters.reading.table_of_contents import Entry
from app.adapters.reading.yaml_files import read_yaml, well_formed_value
from app.domain.document import Site
from app.domain.errors import BookError
from app.domain.reading_budget import read_toml

_NUMBER = re.compile(r"^\d+\s*[-_.]+\s*(?=[^\d\s])")
"""A number before a name of Docusaurus's; not that of a version or date."""
_SCRIPTS = "docusaurus.config.js docusaurus.config.ts docusaurus.config.mjs docusaurus.config.cjs"
CONFIGS: dict[Site, tuple[str, ...]] = {
    Site.DOCUSAURUS: tuple(
        join(folder, name)
        for folder in ("", "website")
        for name in (*_SCRIPTS.split(), "sidebars.json")
    ),
    Site.MDBOOK: ("book.toml",),
    Site.MKDOCS: ("mkdocs.yml", "mkdocs.yaml"),
    Site.MYST: ("myst.yml", "_toc.yml"),
    Site.PLAIN: ("chapters/en/_toctree.yml", "_toctree.yml", "en/_toctree.yml", "SUMMARY.md"),
}
"""Files by which a generator is recognised, in this order."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a generator's configuration says."""

    folder: str
    """The folder of the pages."""
    entries: Sequence[Entry] | None = None
    """The table of contents; None: all pages, in the order of their names."""
    title: str = ""
    language: str = ""
    base_url: str = ""
    path_of: Callable[[str], str] = str
    """A page's file below `folder` -> its path below the base URL."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Other names of pages, such as Docusaurus's ids -> their files below `folder`."""
    order: Callable[[str], list[tuple[bool, str]]] = by_numbers


def facts_of(site: Site, files: SourceFiles, config: str) -> Facts:
    """Read a generator's configuration. BookError, with the file, if it is broken."""
    return _READERS[site](files, config)


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


def _mdbook(files: SourceFiles, config: str) -> Facts:
    settings = read_toml(files.settings(config).encode(), config) if config else {}
    book, html = _table(settings, "book"), _table(_table(settings, "output"), "html")
    folder = str(book.get("src") or ("src" if files.has("src/SUMMARY.md") else "")).rstrip("./")
    summary = join(folder, "SUMMARY.md")
    if not files.has(summary):
        raise BookError("no SUMMARY.md: mdBook needs one as table of contents", summary)
    entries = list(summary_entries(files.settings(summary), numbered=True))
    url = str(html.get("site-url") or "")
    base = url if ":" in url else f"/{url.strip('/')}".rstrip("/")
    title, language = str(book.get("title") or ""), str(book.get("language") or "")
    return Facts(folder, entries, title, language, base, _html_path)


def _mkdocs(files: SourceFiles, config: str) -> Facts:
    settings = _settings(files, config)
    folder, nav = str(settings.get("docs_dir") or "docs"), settings.get("nav")
    return Facts(
        folder if files.has_folder(folder) else "",
        list(yaml_entries(nav)) if isinstance(nav, list) else None,
        str(settings.get("site_name") or ""),
        str(_table(settings, "theme").get("language") or ""),
        str(settings.get("site_url") or ""),
        _html_path if settings.get("use_directory_urls") is False else _folder_path,
    )


def _myst(files: SourceFiles, config: str) -> Facts:
    settings, book = _settings(files, config), _settings(files, "_config.yml")
    project = _table(settings, "project")
    listed = settings if config == "_toc.yml" else project.get("toc")
    return Facts(
        "",
        list(yaml_entries(listed)) if listed else None,
        str(project.get("title") or book.get("title") or ""),
        base_url=_address(book),
        path_of=_bare_path if config == "myst.yml" else _html_path,
    )


def _plain(files: SourceFiles, config: str) -> Facts:
    if config.endswith("_toctree.yml"):
        folder = config.rpartition("/")[0]
        listed = list(yaml_entries(read_yaml(files.settings(config), config)))
        locale = folder.rpartition("/")[2]
        return Facts(folder, listed, path_of=lambda name: join(locale, _bare_path(name)))
    summary = next((one for one in ("SUMMARY.md", "src/SUMMARY.md") if files.has(one)), "")
    book = _settings(files, "_config.yml")
    entries = list(summary_entries(files.settings(summary))) if summary else None
    title, folder = str(book.get("title") or ""), summary.rpartition("/")[0]
    return Facts(folder, entries, title, base_url=_address(book), path_of=_html_path)


def _address(settings: Mapping[str, object]) -> str:
    """Return the site's address: `html.baseurl` of Jupyter Book, `url` and `baseurl` of Jekyll."""
    if html := _table(settings, "html"):
        return str(html.get("baseurl") or "")
    url = str(settings.get("url") or "")
    return url and f"{url.rstrip('/')}/{str(settings.get('baseurl') or '').lstrip('/')}"


def _docusaurus(files: SourceFiles, config: str) -> Facts:
    root = config.rpartition("/")[0]
    folder = next(filter(files.has_folder, (join(root, "docs"), "docs")), "")
    docs = {name: front_matter_of(files, join(folder, name)) for name in page_names(files, folder)}
    sidebars = _json_table(files, join(root, "sidebars.json"))
    entries = [entry for one in sidebars.values() for entry in yaml_entries(one)]
    return Facts(
        folder,
        entries or None,
        path_of=lambda name: _doc_path(name, docs[name]),
        names={_doc_id(name, front): name for name, front in docs.items()},
        order=lambda name: _doc_order(name, docs[name]),
    )


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


def _settings(files: SourceFiles, name: str) -> Mapping[str, object]:
    """Return the settings of a YAML file; {} if there is none or it is no table."""
    loaded = read_yaml(files.settings(name), name) if name and files.has(name) else {}
    return loaded if isinstance(loaded, Mapping) else {}


def _json_table(files: SourceFiles, file: str) -> Mapping[str, object]:
    """Return the settings of a JSON file; {} if there is none. BookError if it is not JSON."""
    try:
        loaded = well_formed_value(json.loads(files.settings(file))) if files.has(file) else {}
    except (ValueError, RecursionError) as error:
        raise BookError(f"is not JSON: {error}", file) from error
    return loaded if isinstance(loaded, Mapping) else {}


def _table(table: Mapping[str, object], key: str) -> Mapping[str, object]:
    value = table.get(key)
    return value if isinstance(value, Mapping) else {}


_READERS: dict[Site, Callable[[SourceFiles, str], Facts]] = {
    Site.DOCUSAURUS: _docusaurus,
    Site.MDBOOK: _mdbook,
    Site.MKDOCS: _mkdocs,
    Site.MYST: _myst,
    Site.PLAIN: _plain,
}
