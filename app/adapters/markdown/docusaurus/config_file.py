"""The settings of a Docusaurus site that determine its pages and URLs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from posixpath import normpath

from app.adapters.markdown.book_files import BookFiles, folder_of
from app.adapters.markdown.docusaurus.javascript import parse_json, string
from app.adapters.markdown.docusaurus.modules import Modules
from app.adapters.markdown.globs import matches_glob
from app.adapters.markdown.site_map import content_folder, table

CONFIG_NAMES = (
    "site.json",
    "docusaurus.config.js",
    "docusaurus.config.ts",
    "docusaurus.config.mjs",
    "docusaurus.config.cjs",
    "docusaurus.config.mts",
)


@dataclass(frozen=True, slots=True)
class DocsInstance:
    """The settings of one docs plugin; a site may have several, each with its own versions."""

    id: str = ""
    """"" for the plugin without an id."""
    path: str = "docs"
    route: str = "docs"
    sidebars: str = ""
    last_version: str = ""
    versions: tuple[str, ...] = ("current",)
    """The versions that the site shows, newest release first, "current" last."""
    version_paths: Mapping[str, str] = field(default_factory=dict)
    """URL segments that the configuration gives to versions."""
    exclude: tuple[str, ...] = ()
    """Glob patterns of files, relative to the docs folder, that are no pages."""
    numbered: bool = True
    """Whether the number before a name (`01-intro.md`) is a position, not part of the name."""

    @property
    def latest(self) -> str:
        """The version whose URLs have no version segment; "current" if none is released."""
        return self.last_version or next(iter(self.versions), "current")

    def excludes(self, path: str) -> bool:
        """Whether a file, relative to the docs folder, is no page of the site."""
        return any(matches_glob(glob, path) for glob in self.exclude)

    @property
    def prefix(self) -> str:
        """How the names of the files and folders of its versions begin."""
        return f"{self.id}_" if self.id else ""

    @property
    def translations(self) -> str:
        """Name of its folder in the folder of a locale."""
        return f"docusaurus-plugin-content-docs{'-' if self.id else ''}{self.id}"


@dataclass(frozen=True, slots=True)
class SiteConfig:
    """The settings that determine pages, their order and their URLs."""

    folder: str
    """The site's folder relative to the book's; "" for the book's own."""
    title: str = ""
    url: str = ""
    base_path: str = "/"
    """"" if the configuration computes it."""
    trailing_slash: bool | None = None
    default_locale: str = ""
    """ "" if none is set."""
    math: bool = False
    locales: tuple[str, ...] = ()
    """All locales but the default one, from the configuration or the folders of `i18n`."""
    locale_of: Mapping[str, str] = field(default_factory=dict)
    """Folder of `i18n` -> its locale, for those that are not named like it."""
    docs: tuple[DocsInstance, ...] = (DocsInstance(),)
    """The one without an id first; its versions are the book's editions."""

    @property
    def language(self) -> str:
        """The language of the default locale; "" if none is set."""
        return self.default_locale.split("-")[0]

    @property
    def locale(self) -> str:
        return self.default_locale or "en"


def find_config(book_files: BookFiles) -> str | None:
    """Return the path of the site's configuration file, or None."""
    places = product(("", "website/", "docs/", "site/"), CONFIG_NAMES)
    return book_files.first("", map("".join, places))


def read_config(book_files: BookFiles, path: str | None) -> SiteConfig:
    """Read `site.json` or the literals of `docusaurus.config.*` and of the modules it imports.

    Defaults where there is none.
    """
    if path is None:
        return _without_file(book_files)
    folder = folder_of(path)
    text = book_files.settings(path)
    modules = Modules(book_files)
    found = table(modules.default(path))
    trailing = found.get("trailingSlash")
    return SiteConfig(
        folder,
        setting(found, text, "title"),
        setting(found, text, "url"),
        setting(found, text, "baseUrl", "" if re.search(r"\bbaseUrl\s*:", text) else "/"),
        trailing if isinstance(trailing, bool) else None,
        string(table(found, "i18n").get("defaultLocale")),
        _has_math(path, modules.text),
        _locales(book_files, folder, table(found, "i18n")),
        _locale_folders(table(found, "i18n")),
        tuple(_instance(book_files, folder, options, text) for options in _docs_options(found)),
    )


def setting(options: dict[str, object], text: str, key: str, default: str = "") -> str:
    """Return a string of a configuration; `text` is searched where it cannot be read."""
    return string(options.get(key)) or _scan(text, key) or default


def _instance(
    book_files: BookFiles, folder: str, options: dict[str, object], text: str
) -> DocsInstance:
    found = string(options.get("id"))
    own = DocsInstance("" if found == "default" else found)
    released = book_files.text(joined(folder, f"{own.prefix}versions.json")) or "[]"
    named = table(options, "versions")
    return DocsInstance(
        own.id,
        string(options.get("path")) or "docs",
        string(options.get("routeBasePath", "docs")),
        string(options.get("sidebarPath")) if own.id else setting(options, text, "sidebarPath"),
        string(options.get("lastVersion")),
        _versions(options, parse_json(released)),
        {name: string(one["path"]) for name in named if "path" in (one := table(named, name))},
        tuple(_strings(options.get("exclude"))),
        options.get("numberPrefixParser") is not False,
    )


def _without_file(book_files: BookFiles) -> SiteConfig:
    content = content_folder(book_files)
    if content:
        return SiteConfig("", docs=(DocsInstance(path=content, route=""),))
    return SiteConfig(
        "", docs=(DocsInstance(path="docs" if book_files.has_folder("docs") else "."),)
    )


def _plugins(config: dict[str, object]) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield the name and the options of each preset and plugin that has options."""
    for key in ("presets", "plugins"):
        entries = config.get(key)
        for entry in entries if isinstance(entries, list) else []:
            match entry:
                case [name, {} as options, *_]:
                    yield string(name), options


def _docs_options(config: dict[str, object]) -> list[dict[str, object]]:
    """Return the options of each docs plugin, the one without an id first.

    They are at the top level, in the classic preset and in plugins; [{}] if there are none.
    """
    top = config.get("docs")
    if isinstance(top, dict):
        return [top]
    found: dict[str, dict[str, object]] = {}
    for name, options in _plugins(config):
        docs = options if "content-docs" in name else options.get("docs")
        if isinstance(docs, dict):
            found.setdefault(string(docs.get("id")) or "default", docs)
    return [found[name] for name in sorted(found, key=lambda name: name != "default")] or [{}]


def _locales(book_files: BookFiles, folder: str, i18n: dict[str, object]) -> tuple[str, ...]:
    """Return the locales other than the default: as configured, else the folders of `i18n`."""
    named, default = _strings(i18n.get("locales")), string(i18n.get("defaultLocale")) or "en"
    own = joined(folder, "i18n")
    if not named and book_files.has_folder(own):
        locale_of = _locale_folders(i18n)
        folders = [one.name for one in sorted((book_files.root / own).iterdir()) if one.is_dir()]
        named = [locale_of.get(name, name) for name in folders]
    return tuple(one for one in named if one != default)


def _locale_folders(i18n: dict[str, object]) -> dict[str, str]:
    """Return the locales by their folders, if `localeConfigs` sets those."""
    configs = table(i18n, "localeConfigs")
    folders = ((string(table(configs, locale).get("path")), locale) for locale in configs)
    return {folder: locale for folder, locale in folders if folder}


def _versions(docs: dict[str, object], released: object) -> tuple[str, ...]:
    """Return the versions that the site shows, newest release first, "current" last."""
    only = _strings(docs.get("onlyIncludeVersions"))
    current = [] if docs.get("includeCurrentVersion") is False else ["current"]
    every = [*_strings(released), *current]
    return tuple(one for one in every if not only or one in only)


def _has_math(path: str, text: str) -> bool:
    pattern = "math" if path.endswith("site.json") else "remark-math|remarkMath"
    return re.search(pattern, text) is not None


def _scan(text: str, key: str) -> str:
    match = re.search(rf"^[ \t]*{key}:\s*(?:require\.resolve\()?[\"'`]([^\"'`\n]*)", text, re.M)
    return match.group(1) if match and "${" not in match.group(1) else ""


def _strings(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def joined(folder: str, path: str) -> str:
    """Return a path in a folder, both relative to the book's; `..` does not lead out of it."""
    return normpath(f"/{folder}/{path}").lstrip("/")


def segments(path: str) -> list[str]:
    return [part for part in path.split("/") if part]
