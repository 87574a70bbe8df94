"""Docusaurus: routes, sidebars, versions and locales of its docs plugin."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import PurePosixPath
from typing import TypeAlias
from urllib.parse import urlsplit

from app.adapters.markdown.docusaurus.config_file import (
    SiteConfig,
    find_config,
    joined,
    read_config,
    segments,
)
from app.adapters.markdown.docusaurus.javascript import parse_json, string
from app.adapters.markdown.docusaurus.sidebars import (
    Doc,
    is_folder_page,
    order_docs,
    strip_number,
    strip_numbers,
)
from app.adapters.markdown.docusaurus.syntax import DIALECT, STYLE
from app.adapters.markdown.includes import Library, folder_of
from app.adapters.markdown.parser.dialect import Dialect
from app.adapters.markdown.site_map import (
    SiteGenerator,
    SitePage,
    SiteSettings,
    configured_base,
    files_beside,
    inside,
    join_url,
    markdown_files,
    table,
    under,
    walk,
)
from app.adapters.markdown.source import front_text, make_source
from app.domain.document import Site, SourceWarning
from app.domain.edition import Edition
from app.domain.errors import FileRefused

_VERSIONED = re.compile(r"^versioned_docs/version-(?P<version>[^/]+)/")
_LOCALIZED = re.compile(
    r"^i18n/(?P<locale>[^/]+)/docusaurus-plugin-content-docs/(?:current|version-(?P<version>[^/]+))/"
)


def read_settings(library: Library, base_url: str, warnings: list[SourceWarning]) -> SiteSettings:
    """Read the docs of the site whose configuration is in the folder or its `website/`."""
    file = find_config(library)
    config = read_config(library, file)
    base = base_url
    if file and not base_url:
        base = configured_base(config.url, file, library.text(file) or "", warnings)
    if not urlsplit(base_url).path:
        base = f"{base}/{config.base_path.strip('/')}".rstrip("/")
    docs = [_doc(library, config, file) for file in _doc_files(library, config)]
    dialect = replace(DIALECT, math=config.math or file is None)
    site = _Site(
        library, config, base, [doc for doc in docs if _is_shown(doc, config)], dialect, warnings
    )
    editions = site.editions()
    default = site.settings(config.latest, config.locale)
    if len(editions) < 2:
        return default
    return replace(
        default,
        editions={edition: partial(site.settings, *parts) for edition, parts in editions.items()},
    )


_ADDRESS = ("slug", "id")
"""The front matter fields that determine a doc's path."""


@dataclass(frozen=True, slots=True)
class _Site:
    """All docs of a site; each edition shows some of them."""

    library: Library
    config: SiteConfig
    base: str
    docs: Sequence[Doc]
    dialect: Dialect
    warnings: list[SourceWarning]

    def editions(self) -> dict[Edition, tuple[str, str]]:
        """Return the editions with their version and locale, the default one first.

        The site builds every version in every locale, whether translated or not.
        """
        default = (self.config.latest, self.config.locale)
        versions = {doc.version for doc in self.docs} | {default[0]}
        locales = {doc.locale for doc in self.docs} | {default[1]}

        def edition(version: str, locale: str) -> Edition:
            name = "next" if version == "current" else version
            in_id = (name if version != default[0] else "", locale if locale != default[1] else "")
            return Edition(
                name if len(versions) > 1 else "", locale if len(locales) > 1 else "", in_id
            )

        ordered = sorted(product(versions, locales), key=lambda one: (one != default, one))
        return {edition(*parts): parts for parts in ordered}

    def settings(self, version: str, locale: str) -> SiteSettings:
        """Return the settings of an edition. Untranslated docs appear in the original language."""
        config, base = self.config, self.base
        shown = {
            under(doc.folder, doc.stem): doc
            for own in (config.locale, locale)
            for doc in self.docs
            if (doc.version, doc.locale) == (version, own)
        }
        built = _built_docs(self.library, config)
        pages = {doc.file: _page(doc, config, base, built, locale) for doc in shown.values()}
        sidebars = _sidebar_file(self.library, config, version)
        ordered = order_docs(self.library, sidebars, list(shown.values()), self.warnings)
        is_default = (version, locale) == (config.latest, config.locale)
        return SiteSettings(
            base if is_default else join_url(base, "/".join(_root(config, version, locale))),
            config.title,
            config.language if locale == config.locale else locale,
            joined(config.folder, config.docs_path),
            pages=[
                replace(pages[doc.file], title=doc.label, chapter=chapter)
                for doc, chapter in ordered
            ],
            every_page=list(pages.values()),
            site_root=config.folder,
            dialect=self.dialect,
        )


def _is_shown(doc: Doc, config: SiteConfig) -> bool:
    locales = (config.locale, *config.locales)
    return not doc.draft and doc.version in config.versions and doc.locale in locales


def _root(config: SiteConfig, version: str, locale: str) -> list[str]:
    """Return the URL path that only this edition's pages have as prefix.

    For the latest version it is the path of its locale, which also holds pages that are not docs.
    """
    of_locale = [] if locale == config.locale else [locale]
    if version == config.latest:
        return of_locale
    return [*of_locale, *segments(config.route), *_version_segments(config, version)]


def _version_segments(config: SiteConfig, version: str) -> list[str]:
    if version in config.version_paths:
        return segments(config.version_paths[version])
    if version == config.latest:
        return []
    return ["next" if version == "current" else version]


def _doc_files(library: Library, config: SiteConfig) -> list[str]:
    files: list[str] = []
    for name in (config.docs_path, "versioned_docs", "i18n"):
        folder = joined(config.folder, name)
        for file in markdown_files(library, folder):
            inner = inside(folder, file)
            if name == "i18n" and "docusaurus-plugin-content-docs" not in inner:
                continue
            if not any(part.startswith("_") for part in inner.split("/")):
                files.append(file)
    return list(dict.fromkeys(files))


def _doc(library: Library, config: SiteConfig, file: str) -> Doc:
    version, locale, inner = _edition(config, file)
    front = _front_matter(library, file)
    path = PurePosixPath(inner)
    folder = folder_of(inner)
    stem, number, clean = path.stem, None, folder
    if front.get("parse_number_prefixes") is not False:
        stem, number = strip_number(path.stem)
        clean = strip_numbers(folder)
    base_id = front_text(front, "id") or stem
    return Doc(
        file,
        under(clean, base_id),
        _slug(path.stem, folder, clean, base_id, front_text(front, "slug")),
        folder,
        path.stem,
        front_text(front, "sidebar_label") or front_text(front, "title"),
        _position(front, number),
        version,
        locale,
        front.get("draft") is True,
        front.get("unlisted") is True,
        tuple(front_text(front, key) for key in _ADDRESS),
    )


def _edition(config: SiteConfig, file: str) -> tuple[str, str, str]:
    """Return a doc's version and locale, and its path inside the docs folder of that edition."""
    relative = file.removeprefix(f"{config.folder}/")
    if versioned := _VERSIONED.match(relative):
        return versioned["version"], config.locale, relative[versioned.end() :]
    if localized := _LOCALIZED.match(relative):
        rest = relative[localized.end() :]
        return localized["version"] or "current", localized["locale"], rest
    return "current", config.locale, inside(joined(config.folder, config.docs_path), file)


def _front_matter(library: Library, file: str) -> dict[str, object]:
    try:
        text = library.text(file) or ""
        if not text[:4].strip("\ufeff").startswith("---"):
            return {}
        return make_source(text[: text.find("\n---", 3) + 8], file).front_matter
    except FileRefused:
        return {}  # refused again when it is read as a page


def _position(front: dict[str, object], number: int | None) -> float:
    value = front.get("sidebar_position")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    return math.inf if number is None else float(number)


def _slug(stem: str, folder: str, clean_folder: str, base_id: str, front_slug: str) -> str:
    if front_slug.startswith("/"):
        return front_slug
    if not front_slug and is_folder_page(stem, folder):
        return f"/{clean_folder}/" if clean_folder else "/"
    target = front_slug or base_id
    return f"/{joined(clean_folder, target)}{'/' if target.endswith('/') else ''}"


def _page(
    doc: Doc, config: SiteConfig, base: str, built: Mapping[str, BuiltDoc], locale: str
) -> SitePage:
    found = built.get(f"@site/{inside(config.folder, doc.file)}", {})
    path = _built_path(found, config, doc, locale)
    if path is None:
        path = _route(doc, config, locale)
    language = config.language if doc.locale == config.locale else doc.locale
    return SitePage(doc.file, join_url(base, path, encoded=True), doc.label, "", language)


def _route(doc: Doc, config: SiteConfig, locale: str) -> str:
    """Return the path that Docusaurus gives a doc in a locale, relative to the site's."""
    parts = [] if locale == config.locale else [locale]
    parts += [*segments(config.route), *_version_segments(config, doc.version)]
    path = "/".join([*parts, doc.slug.lstrip("/")])
    if config.trailing_slash is None:
        return path
    return path.rstrip("/") + ("/" if config.trailing_slash else "")


def _sidebar_file(library: Library, config: SiteConfig, version: str) -> str:
    """Return the sidebars file of a version; "" for a generated one."""
    if version != "current":
        name = f"versioned_sidebars/version-{version}-sidebars.json"
        return library.locate(config.folder, name) or ""
    candidates = [config.sidebars] if config.sidebars else []
    candidates += ["sidebars.js", "sidebars.ts", "sidebars.json", "sidebars.mjs", "sidebars.cjs"]
    return library.first(config.folder, candidates) or ""


BuiltDoc: TypeAlias = Mapping[str, object]
"""A doc's metadata from an earlier build, in any locale."""


def _built_path(built: BuiltDoc, config: SiteConfig, doc: Doc, locale: str) -> str | None:
    """Return a built doc's path in a locale, relative to the site's; None if the build is stale.

    A build is stale if its version or front matter of the doc differs from the source, or if its
    base path differs.
    """
    permalink, version = string(built.get("permalink")), string(built.get("version"))
    front = built.get("frontMatter")
    if not permalink or version not in ("", doc.version):
        return None
    if isinstance(front, dict) and doc.address != tuple(str(front.get(k) or "") for k in _ADDRESS):
        return None
    parts, base = permalink.split("/"), ["", *segments(config.base_path)]
    if parts[: len(base)] != base:
        return None
    rest = parts[len(base) :]
    if rest[:1] and rest[0] in config.locales:
        rest = rest[1:]
    return "/".join(rest if locale == config.locale else [locale, *rest])


def _built_docs(library: Library, config: SiteConfig) -> dict[str, BuiltDoc]:
    """Return metadata of an earlier build by source file."""
    folder = joined(config.folder, ".docusaurus/docusaurus-plugin-content-docs/default")
    files = (file for file in walk(library, folder) if PurePosixPath(file).match("site-*.json"))
    found = (table(parse_json(library.text(file) or "")) for file in files)
    return {string(built.get("source")): built for built in found}


def _link_files(path: str, folder: str, root: str) -> Sequence[str]:
    """Return both candidates: relative to the page's folder and to the docs folder."""
    return [*files_beside(path, folder, root), *files_beside(path, root, root)]


GENERATOR = SiteGenerator(
    Site.DOCUSAURUS,
    replace(DIALECT, math=True),
    STYLE,
    find_config,
    read_settings,
    _link_files,
)
