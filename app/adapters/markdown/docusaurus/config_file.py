"""The settings of a Docusaurus site that determine its pages and URLs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from posixpath import normpath

from app.adapters.markdown.docusaurus.javascript import parse_json, read_value, string
from app.adapters.markdown.includes import Library, folder_of
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
class SiteConfig:
    """The settings that determine pages, their order and their URLs."""

    folder: str
    """The site's folder relative to the book's; "" for the book's own."""
    title: str = ""
    url: str = ""
    base_path: str = "/"
    docs_path: str = "docs"
    route: str = "docs"
    sidebars: str = ""
    trailing_slash: bool | None = None
    default_locale: str = ""
    """ "" if none is set."""
    last_version: str = ""
    math: bool = False
    locales: tuple[str, ...] = ()
    """All locales but the default one, from the configuration or the folders of `i18n`."""
    versions: tuple[str, ...] = ("current",)
    """The versions that the site shows, newest release first, "current" last."""
    version_paths: Mapping[str, str] = field(default_factory=dict)
    """URL segments that the configuration gives to versions."""

    @property
    def language(self) -> str:
        """The language of the default locale; "" if none is set."""
        return self.default_locale.split("-")[0]

    @property
    def locale(self) -> str:
        return self.default_locale or "en"

    @property
    def latest(self) -> str:
        """The version whose URLs have no version segment; "current" if none is released."""
        return self.last_version or next(iter(self.versions), "current")


def find_config(library: Library) -> str | None:
    """Return the path of the site's configuration file, or None."""
    places = product(("", "website/", "docs/", "site/"), CONFIG_NAMES)
    return library.first("", map("".join, places))


def read_config(library: Library, path: str | None) -> SiteConfig:
    """Read `site.json` or the literals of `docusaurus.config.*`; defaults where there is none."""
    if path is None:
        return _without_file(library)
    folder = folder_of(path)
    text = library.settings(path)
    found = table(read_value(text, path))
    docs = _docs_options(found)
    trailing = found.get("trailingSlash")

    def setting(options: dict[str, object], key: str, default: str = "") -> str:
        return string(options.get(key)) or _scan(text, key) or default

    return SiteConfig(
        folder,
        setting(found, "title"),
        setting(found, "url"),
        setting(found, "baseUrl", "/"),
        string(docs.get("path")) or "docs",
        string(docs.get("routeBasePath", "docs")),
        setting(docs, "sidebarPath"),
        trailing if isinstance(trailing, bool) else None,
        string(table(found, "i18n").get("defaultLocale")),
        string(docs.get("lastVersion")),
        _has_math(path, text),
        _locales(library, folder, table(found, "i18n")),
        _versions(docs, parse_json(library.text(joined(folder, "versions.json")) or "[]")),
        {
            version: string(options["path"])
            for version in table(docs, "versions")
            if "path" in (options := table(docs, "versions", version))
        },
    )


def _without_file(library: Library) -> SiteConfig:
    content = content_folder(library)
    if content:
        return SiteConfig("", docs_path=content, route="")
    return SiteConfig("", docs_path="docs" if library.has_folder("docs") else ".")


def _docs_options(config: dict[str, object]) -> dict[str, object]:
    """Find the docs plugin's options: in the classic preset, in a plugin, or at the top level."""
    top = config.get("docs")
    if isinstance(top, dict):
        return top
    for key in ("presets", "plugins"):
        entries = config.get(key)
        for entry in entries if isinstance(entries, list) else []:
            if not isinstance(entry, list) or len(entry) < 2 or not isinstance(entry[1], dict):
                continue
            docs = entry[1].get("docs")
            if isinstance(docs, dict):
                return docs
            if "content-docs" in string(entry[0]):
                return entry[1]
    return {}


def _locales(library: Library, folder: str, i18n: dict[str, object]) -> tuple[str, ...]:
    """Return the locales other than the default: as configured, else the folders of `i18n`."""
    named, default = _strings(i18n.get("locales")), string(i18n.get("defaultLocale")) or "en"
    own = joined(folder, "i18n")
    if not named and library.has_folder(own):
        named = [one.name for one in sorted((library.root / own).iterdir()) if one.is_dir()]
    return tuple(one for one in named if one != default)


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
    return match.group(1) if match else ""


def _strings(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def joined(folder: str, path: str) -> str:
    """Return a path in a folder, both relative to the book's; `..` does not lead out of it."""
    return normpath(f"/{folder}/{path}").lstrip("/")


def segments(path: str) -> list[str]:
    return [part for part in path.split("/") if part]
