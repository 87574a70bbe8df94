"""What each site generator's configuration says: its pages, their order and addresses.

Only what is simple and common is read. For anything else the built site is.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from posixpath import dirname, join, normpath

from app.adapters.reading.source_files import SourceFiles, by_numbers, front_matter_of, page_names
from app.adapters.reading.table_of_contents import Entry, summary_entries, yaml_entries
from app.adapters.reading.yaml_files import read_yaml, well_formed_value
from app.domain.document import Site
from app.domain.errors import BookError
from app.domain.reading_budget import read_json, read_toml

_NUMBER = re.compile(r"^\d+\s*[-_.]+\s*(?=[^\d\s])")
"""A number before a name of Docusaurus's; not that of a version or date."""
_ENUMERATION = re.compile(r"^(?![12]\d{3}|\d{5})[\d_.-]++(?=.)")
"""A number before a name of mystmd's; not that of a year."""
_TOCTREE = re.compile(
    r"^(`{3,8}|:{3,8}) *\{?toc(?:tree)?\}?[^\n]*\n(?P<names>.*?)^\1", re.DOTALL | re.MULTILINE
)
"""A fence that lists pages; its marks are few, so that the search for their ends is linear."""
_INDEX = ("index", "_index", "readme")
_LESSON = ("episodes", "learners", "instructors", "profiles")
"""Folders of a lesson of the Carpentries, in the order of its site."""
_HUGO = ("hugo.toml", "hugo.yaml", "config/_default/hugo.toml", "config.toml")
_POSITIONS = ("sidebar_position", "position", "weight", "nav_order", "order")
"""Where a page or category says its place: Docusaurus, Hugo, Just the Docs, Starlight."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a generator's configuration says."""

    folder: str
    """The folder of the pages."""
    pages: Mapping[str, str]
    """Each page's file below `folder` with its path below the base URL, in the order of names."""
    entries: Sequence[Entry] | None = None
    """The table of contents; None: all pages."""
    title: str = ""
    language: str = ""
    base_url: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    """Other names of pages, such as Docusaurus's ids -> their files below `folder`."""


def _pages(files: SourceFiles, folder: str, end: str) -> dict[str, str]:
    """Return file -> path of each page; a README beside an index has its own name's."""
    taken: dict[str, str] = {}
    for name, front in _fronts(files, folder).items():
        path = str(front.get("permalink") or _path(name, end)).lstrip("/")
        taken[name.rpartition(".")[0] + end if path in taken else path] = name
    return {name: path for path, name in taken.items()}


def _path(name: str, end: str) -> str:
    """Return a page's path: `x.md` with this end; an index or README is its folder's page."""
    above, slash, last = name.rpartition(".")[0].rpartition("/")
    if last.lower() not in _INDEX:
        return f"{above}{slash}{last}{end}"
    return f"{above}{slash}index.html" if end == ".html" else f"{above}{slash if end else ''}"


def _mdbook(files: SourceFiles, config: str) -> Facts:
    settings = _settings(files, config)
    source = _text(settings, "book", "src") or ("src" if files.has("src/SUMMARY.md") else "")
    folder = source.rstrip("./")
    summary = join(folder, "SUMMARY.md")
    if not files.has(summary):
        raise BookError("no SUMMARY.md: mdBook needs one as table of contents", summary)
    url = _text(settings, "output", "html", "site-url")
    return Facts(
        folder,
        _pages(files, folder, ".html"),
        list(summary_entries(files.settings(summary), numbered=True)),
        _text(settings, "book", "title"),
        _text(settings, "book", "language"),
        url if ":" in url else f"/{url.strip('/')}".rstrip("/"),
    )


def _mkdocs(files: SourceFiles, config: str) -> Facts:
    settings = _settings(files, config)
    given = _text(settings, "docs_dir"), "docs"
    folder = next((one for one in given if one and files.has_folder(one)), "")
    plugins = [one for one in _list(settings.get("plugins")) if isinstance(one, Mapping)]
    nav_file = next(
        filter(None, (_text(one, "literate-nav", "nav_file") for one in plugins)), "SUMMARY.md"
    )
    listed = [*yaml_entries(settings.get("nav"))] or _summary(files, join(folder, nav_file))
    return Facts(
        folder,
        _pages(files, folder, ".html" if settings.get("use_directory_urls") is False else "/"),
        listed or None,
        _text(settings, "site_name"),
        _text(settings, "theme", "language"),
        _text(settings, "site_url"),
    )


def _summary(files: SourceFiles, name: str) -> list[Entry]:
    """Return the entries of a page that lists the others; [] if there is none."""
    return list(summary_entries(files.settings(name))) if files.has(name) else []


def _myst(files: SourceFiles, config: str) -> Facts:
    settings, book = _settings(files, config), _settings(files, "_config.yml")
    project = settings.get("project")
    toc = project.get("toc") if isinstance(project, Mapping) else None
    listed = settings if config == "_toc.yml" else toc
    entries = list(yaml_entries(listed)) if listed else _toctrees(files) or None
    is_mystmd = config == "myst.yml"
    return Facts(
        "",
        _mystmd_pages(files, settings, entries or ()) if is_mystmd else _pages(files, "", ".html"),
        entries,
        _text(settings, "project", "title") or _text(book, "title"),
        base_url=_address(book),
    )


def _mystmd_pages(
    files: SourceFiles, settings: Mapping[str, object], entries: Sequence[Entry]
) -> dict[str, str]:
    """Return file -> path of each page; the first has the site's, the second `owls.md` has -1."""
    names = page_names(files, "")
    known = {key: name for name in names for key in (name.rpartition(".")[0], name)}
    listed = [known[path] for path in (normpath(one.target) for one in entries) if path in known]
    in_folders = _text(settings, "site", "options", "folders") == "True"
    paths, count = dict[str, str](), Counter({"index": 1})
    for name in dict.fromkeys((*listed, *names)):
        parts = PurePosixPath(name).with_suffix("").parts
        path = "/".join(map(_slug, parts if in_folders else parts[-1:])).removesuffix("/index")
        again = f"-{count[path]}" if count[path] else ""
        count[path] += bool(paths)  # the first page is the home page
        paths[name] = path + again if paths else ""
    return paths


def _slug(name: str) -> str:
    name = _ENUMERATION.sub("", name.lower()).replace("&", "-and-")
    return re.sub("[^a-z0-9]+", "-", name).strip("-")[:50]


def _plain(files: SourceFiles, config: str) -> Facts:
    if config.endswith("_toctree.yml"):
        folder = config.rpartition("/")[0]
        listed = list(yaml_entries(read_yaml(files.settings(config), config)))
        locale = folder.rpartition("/")[2]
        pages = {file: join(locale, path) for file, path in _pages(files, folder, "").items()}
        return Facts(folder, pages, listed)
    lesson = _settings(files, "config.yaml")
    if "carpentry" in lesson:
        return _lesson(files, lesson)
    if (hugo := next(filter(files.has, _HUGO), "")) and files.has_folder("content"):
        return _hugo(files, _settings(files, hugo))
    gitbook = {**_settings(files, "book.json"), **_settings(files, ".gitbook.yaml")}
    own = _text(gitbook, "structure", "summary") or "SUMMARY.md"
    names = (join(_text(gitbook, "root").strip("./"), own), "src/SUMMARY.md", "_sidebar.md")
    summary = next(filter(files.has, names), "")
    book, folder = _settings(files, "_config.yml"), summary.rpartition("/")[0]
    style = _text(book, "permalink")
    end = "/" if style == "pretty" or style.endswith("/") else ".html"
    pages = _pages(files, folder, end)
    pages.pop(summary.rpartition("/")[2], "")  # HonKit's contents may be a README
    entries = _summary(files, summary) or _toctrees(files)
    first = _text(gitbook, "structure", "readme") or "README.md"
    is_home = gitbook or summary.endswith("_sidebar.md")  # else that of the repository
    if entries and is_home and first in pages and first not in [one.target for one in entries]:
        entries.insert(0, Entry(0, "", 0, first))
    return Facts(
        folder,
        pages | _collections(files, book, end),
        entries or None,
        _text(gitbook, "title") or _text(book, "title"),
        base_url=_address(book),
    )


def _toctrees(files: SourceFiles) -> list[Entry]:
    """Read what pages of Sphinx and d2lbook list in fences; [] if that is nothing or a pattern."""
    entries: dict[str, Entry] = {}
    waiting = [(0, "index.md")]
    while waiting:
        depth, page = waiting.pop()
        if page in entries or not files.has(page):
            continue
        entries[page] = Entry(depth, "", 0, page)
        names = "\n".join(tree["names"] for tree in _TOCTREE.finditer(files.text(page)))
        if "*" in names:
            return []
        for line in reversed(names.splitlines()):
            name = line.rpartition("<")[2].strip("> ").removesuffix(".md")
            path = normpath(join(dirname(page), name)).lstrip("/")
            waiting.append((depth + (page != "index.md"), f"{path}.md"))
    return [*entries.values()] if len(entries) > 1 else []


def _hugo(files: SourceFiles, settings: Mapping[str, object]) -> Facts:
    language, url = _text(settings, "defaultContentLanguage"), _text(settings, "baseURL")
    given = _text(settings, "languages", language or "en", "contentDir")
    folder = (given or _text(settings, "contentDir") or "content").strip("./")
    pages = _pages(files, folder, "/") if files.has_folder(folder) else {}
    return Facts(
        folder,
        {name: path.lower().replace(" ", "-") for name, path in pages.items()},
        title=_text(settings, "title"),
        language=language,
        base_url=url if "//example." not in url else "",
    )


def _lesson(files: SourceFiles, settings: Mapping[str, object]) -> Facts:
    """Read a lesson of the Carpentries' Workbench, which puts its pages beside each other."""
    names = [f"{folder}/{name}" for folder in _LESSON for name in _list(settings.get(folder))]
    found = _pages(files, "", ".html")
    names += [one for folder in _LESSON for one in found if one.rpartition("/")[0] == folder]
    return Facts(
        "",
        {one: found[one].rpartition("/")[2] for one in ("index.md", *names) if one in found},
        list(yaml_entries(["index.md", *names])),
        _text(settings, "title"),
        _text(settings, "lang"),
        _text(settings, "url"),
    )


def _list(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else ()


def _collections(files: SourceFiles, settings: Mapping[str, object], end: str) -> dict[str, str]:
    """Return the pages of Jekyll's collections: those of `lessons` are in `_lessons`."""
    given = settings.get("collections")
    pages = {}
    for name in given if isinstance(given, Mapping) else ():
        for page in page_names(files, f"_{name}") if files.has_folder(f"_{name}") else ():
            file, own = f"_{name}/{page}", page.rpartition(".")[0]
            path = _text(front_matter_of(files, file), "permalink")
            path = path or _text(given, name, "permalink") or f"/:collection/:path{end}"
            pages[file] = path.replace(":collection", name).replace(":path", own)
    return pages


def _address(settings: Mapping[str, object]) -> str:
    """Return the site's address: `html.baseurl` of Jupyter Book, `url` and `baseurl` of Jekyll."""
    url = _text(settings, "url")
    jekyll = url and f"{url.rstrip('/')}/{_text(settings, 'baseurl').lstrip('/')}"
    return _text(settings, "html", "baseurl") or jekyll


def _docusaurus(files: SourceFiles, config: str) -> Facts:
    root = config.rpartition("/")[0]
    folder = next(filter(files.has_folder, (join(root, "docs"), "docs")), "")
    docs = _fronts(files, folder)
    name = join(root, "sidebars.json")
    text = files.settings(name) if files.has(name) else "{}"
    sidebars = well_formed_value(read_json(text, name, expected="correct the sidebars"))
    return Facts(
        folder,
        {name: _doc_path(name, front) for name, front in docs.items()},
        list(yaml_entries([*sidebars.values()] if isinstance(sidebars, dict) else [])) or None,
        names={_doc_id(name, front): name for name, front in docs.items()},
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
    is_index = _NUMBER.sub("", last).lower() in _INDEX or last in folders[-1:]
    return f"{above}{slash}{'' if is_index and not slug else slug or own}"


def _fronts(files: SourceFiles, folder: str) -> dict[str, Mapping[str, object]]:
    """Return the front matter of the pages, ordered by the positions in it.

    The position of a folder is that of its `_category_` file, else of its index.
    """
    fronts = {one: front_matter_of(files, join(folder, one)) for one in page_names(files, folder)}
    folders = {str(above) for name in fronts for above in PurePosixPath(name).parents}
    categories = {f"{one}/index": _category(files, join(folder, one)) for one in folders}
    places: dict[str, str] = {}
    for name, front in [*fronts.items(), *categories.items()]:
        sidebar = front.get("sidebar")
        known = {**front, **sidebar} if isinstance(sidebar, Mapping) else front
        position = next((known[key] for key in _POSITIONS if key in known), None)
        path = PurePosixPath(name).with_suffix("")
        if isinstance(position, int | float):
            places[str(path.parent if path.name.lower() in _INDEX else path)] = f"{position:013.3f}"

    def key(name: str) -> list[tuple[bool, str]]:
        parts = PurePosixPath(name).with_suffix("").parts
        at = ["/".join(parts[: end + 1]) for end in range(len(parts))]
        return [
            (True, places[path] + part[1]) if path in places else part
            for path, part in zip(at, by_numbers(name), strict=True)
        ]

    return {name: fronts[name] for name in sorted(fronts, key=key)}


def _category(files: SourceFiles, folder: str) -> Mapping[str, object]:
    """Return what Docusaurus reads of a folder; {} without such a file."""
    names = (join(folder, f"_category_{end}") for end in (".json", ".yml", ".yaml"))
    return _settings(files, next(filter(files.has, names), ""))


def _settings(files: SourceFiles, name: str) -> Mapping[str, object]:
    """Return the settings of a file, in Zensical's their table; {} of Python or without any."""
    is_read = name and files.has(name) and not name.endswith(".py")
    text = files.settings(name) if is_read else ""
    is_toml = name.endswith(".toml")  # else YAML or GitBook's JSON, which is lenient
    found = read_toml(text, name) if is_toml else read_yaml(text.replace("\t", " "), name)
    found = found if isinstance(found, Mapping) else {}
    return found.get("project", found) if name == "zensical.toml" else found


def _text(settings: object, *names: str) -> str:
    """Return the text or number at this path of nested tables; "" if there is none."""
    for name in names:
        settings = settings.get(name) if isinstance(settings, Mapping) else None
    return str(settings) if isinstance(settings, str | int | float) else ""


READERS: dict[Site, Callable[[SourceFiles, str], Facts]] = {
    Site.DOCUSAURUS: _docusaurus,
    Site.MDBOOK: _mdbook,
    Site.MKDOCS: _mkdocs,
    Site.MYST: _myst,
    Site.PLAIN: _plain,
}
"""What reads the configuration of each; BookError, with the file, if it is broken."""
