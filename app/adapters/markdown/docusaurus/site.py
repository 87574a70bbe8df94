"""Docusaurus: routes, sidebars, versions and locales of its docs plugin."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import PurePosixPath
from typing import TypeAlias
from urllib.parse import urlsplit

from app.adapters.markdown.book_files import BookFiles, folder_of
from app.adapters.markdown.docusaurus.config_file import (
    DocsInstance,
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
from app.adapters.markdown.folder_files import page_files, walk
from app.adapters.markdown.parser.dialect import Dialect
from app.adapters.markdown.site_map import (
    SiteGenerator,
    SitePage,
    SiteSettings,
    configured_base,
    files_beside,
    front_matter,
    inside,
    join_url,
    line_of,
    table,
    under,
)
from app.adapters.markdown.source import front_text
from app.domain.document import Site, SourceWarning
from app.domain.edition import Edition


def read_settings(
    book_files: BookFiles, base_url: str, warnings: list[SourceWarning]
) -> SiteSettings:
    """Read the docs of the site whose configuration is in the folder or its `website/`."""
    file = find_config(book_files)
    config = read_config(book_files, file)
    base = _base(book_files, config, file, base_url, warnings)
    dialect = replace(DIALECT, math=config.math or file is None)
    docs = [_InstanceDocs.of(book_files, config, instance) for instance in config.docs]
    site = _Site(book_files, config, base, docs, dialect, warnings)
    editions = site.editions()
    default = site.settings(docs[0].instance.latest, config.locale)
    if len(editions) < 2:
        return default
    return replace(
        default,
        editions={edition: partial(site.settings, *parts) for edition, parts in editions.items()},
    )


_ADDRESS = ("slug", "id")
"""The front matter fields that determine a doc's path."""


def _base(
    book_files: BookFiles,
    config: SiteConfig,
    file: str | None,
    base_url: str,
    warnings: list[SourceWarning],
) -> str:
    """Return the URL of the site's root; warn of settings that are not read as they are meant."""
    text = (book_files.text(file) or "") if file else ""
    base = base_url
    if file and not base_url:
        base = configured_base(config.url, file, text, warnings)
        if not config.base_path:
            message = "baseUrl is computed: give the site's URL with --base-url, or links are wrong"
            warnings.append(SourceWarning(message, file, line_of(text, "baseUrl")))
    for instance in config.docs[1:]:
        if len(instance.versions) > 1:
            message = f"of the docs {instance.id!r}, only the version {instance.latest} is read"
            warnings.append(SourceWarning(message, file or "", line_of(text, instance.id)))
    if urlsplit(base_url).path:
        return base
    return f"{base}/{config.base_path.strip('/')}".rstrip("/")


@dataclass(frozen=True, slots=True)
class _InstanceDocs:
    """The docs of one docs plugin."""

    instance: DocsInstance
    docs: Sequence[Doc]

    @classmethod
    def of(cls, book_files: BookFiles, config: SiteConfig, instance: DocsInstance) -> _InstanceDocs:
        files = _files(book_files, config, instance)
        placed = [(file, *_edition(config, instance, file)) for file in files]
        every = [
            _doc(book_files, *one, numbered=instance.numbered)
            for one in placed
            if not instance.excludes(one[-1])
        ]
        return cls(instance, [doc for doc in every if _is_shown(doc, config, instance)])


@dataclass(frozen=True, slots=True)
class _Site:
    """All docs of a site; each edition shows some of them."""

    book_files: BookFiles
    config: SiteConfig
    base: str
    docs: Sequence[_InstanceDocs]
    """The first has the versions of the editions, the others are read in their latest one."""
    dialect: Dialect
    warnings: list[SourceWarning]

    def editions(self) -> dict[Edition, tuple[str, str]]:
        """Return the editions with their version and locale, the default one first.

        The site builds every version in every locale, whether translated or not.
        """
        default = (self.docs[0].instance.latest, self.config.locale)
        versions = {doc.version for doc in self.docs[0].docs} | {default[0]}
        locales = {doc.locale for one in self.docs for doc in one.docs} | {default[1]}

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
        config, first = self.config, self.docs[0].instance
        listed, every = self._pages(self.docs[0], version, locale)
        for other in self.docs[1:] if version == first.latest else ():
            pages = self._pages(other, other.instance.latest, locale)
            taken = {page.file for page in every}  # also if the other's path is computed
            more_listed, more = ([one for one in new if one.file not in taken] for new in pages)
            listed, every = [*listed, *more_listed], [*every, *more]
        is_default = (version, locale) == (first.latest, config.locale)
        own = _root(config, first, version, locale)
        return SiteSettings(
            self.base if is_default else join_url(self.base, "/".join(own)),
            config.title,
            config.language if locale == config.locale else locale,
            joined(config.folder, first.path),
            pages=listed,
            every_page=every,
            site_root=config.folder,
            dialect=self.dialect,
            configured_folder=under(config.folder, first.path),
        )

    def _pages(
        self, of_instance: _InstanceDocs, version: str, locale: str
    ) -> tuple[list[SitePage], list[SitePage]]:
        """Return the pages that the sidebars list, in order, and all pages."""
        config, instance = self.config, of_instance.instance
        shown = {
            under(doc.folder, doc.stem): doc
            for own in (config.locale, locale)
            for doc in of_instance.docs
            if (doc.version, doc.locale) == (version, own)
        }
        built = _built_docs(self.book_files, config, instance)
        pages = {
            doc.file: _page(doc, config, instance, self.base, built, locale)
            for doc in shown.values()
        }
        sidebars = _sidebar_file(self.book_files, config, instance, version)
        docs = list(shown.values())
        ordered = order_docs(
            self.book_files, sidebars, docs, self.warnings, numbered=instance.numbered
        )
        listed = [
            replace(pages[doc.file], title=doc.label, chapter=chapter) for doc, chapter in ordered
        ]
        return listed, list(pages.values())


def _is_shown(doc: Doc, config: SiteConfig, instance: DocsInstance) -> bool:
    locales = (config.locale, *config.locales)
    return not doc.draft and doc.version in instance.versions and doc.locale in locales


def _root(config: SiteConfig, instance: DocsInstance, version: str, locale: str) -> list[str]:
    """Return the URL path that only this edition's pages have as prefix.

    For the latest version it is the path of its locale, which also holds pages that are not docs.
    """
    of_locale = [] if locale == config.locale else [locale]
    if version == instance.latest:
        return of_locale
    return [*of_locale, *segments(instance.route), *_version_segments(instance, version)]


def _version_segments(instance: DocsInstance, version: str) -> list[str]:
    if version in instance.version_paths:
        return segments(instance.version_paths[version])
    if version == instance.latest:
        return []
    return ["next" if version == "current" else version]


def _files(book_files: BookFiles, config: SiteConfig, instance: DocsInstance) -> list[str]:
    files: list[str] = []
    for name in (instance.path, f"{instance.prefix}versioned_docs", "i18n"):
        folder = joined(config.folder, name)
        for file in page_files(book_files, folder):
            inner = inside(folder, file)
            if name == "i18n" and instance.translations not in inner.split("/"):
                continue
            if not any(part.startswith("_") for part in inner.split("/")):
                files.append(file)
    return list(dict.fromkeys(files))


def _doc(
    book_files: BookFiles, file: str, version: str, locale: str, inner: str, *, numbered: bool
) -> Doc:
    """Read a doc's front matter; `inner` is its path in the docs folder of its edition."""
    front = front_matter(book_files, file)
    path = PurePosixPath(inner)
    folder = folder_of(inner)
    stem, number, clean = path.stem, None, folder
    if numbered and front.get("parse_number_prefixes") is not False:
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


def _edition(config: SiteConfig, instance: DocsInstance, file: str) -> tuple[str, str, str]:
    """Return a doc's version and locale, and its path inside the docs folder of that edition."""
    in_site = config.folder and file.startswith(config.folder + "/")
    relative = inside(config.folder, file) if in_site else file
    match relative.split("/"):
        case ["i18n", name, plugin, version, *path] if plugin == instance.translations:
            locale = config.locale_of.get(name, name)
            return version.removeprefix("version-"), locale, "/".join(path)
        case [folder, version, *path] if folder == f"{instance.prefix}versioned_docs":
            return version.removeprefix("version-"), config.locale, "/".join(path)
    return "current", config.locale, inside(joined(config.folder, instance.path), file)


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
    doc: Doc,
    config: SiteConfig,
    instance: DocsInstance,
    base: str,
    built: Mapping[str, BuiltDoc],
    locale: str,
) -> SitePage:
    found = built.get(f"@site/{inside(config.folder, doc.file)}", {})
    path = _built_path(found, config, doc, locale)
    if path is None:
        path = _route(doc, config, instance, locale)
    url = join_url(base, _with_slash(path, config), encoded=True)
    language = config.language if doc.locale == config.locale else doc.locale.split("-")[0]
    return SitePage(doc.file, url, doc.label, "", language)


def _route(doc: Doc, config: SiteConfig, instance: DocsInstance, locale: str) -> str:
    """Return the path that Docusaurus gives a doc in a locale, relative to the site's."""
    parts = [] if locale == config.locale else [locale]
    parts += [*segments(instance.route), *_version_segments(instance, doc.version)]
    return "/".join([*parts, doc.slug.lstrip("/")])


def _with_slash(path: str, config: SiteConfig) -> str:
    """Apply the setting `trailingSlash`, as Docusaurus does after it has written its metadata."""
    if config.trailing_slash is None:
        return path
    return path.rstrip("/") + ("/" if config.trailing_slash else "")


def _sidebar_file(
    book_files: BookFiles, config: SiteConfig, instance: DocsInstance, version: str
) -> str:
    """Return the sidebars file of a version; "" for a generated one."""
    if version != "current":
        name = f"{instance.prefix}versioned_sidebars/version-{version}-sidebars.json"
        return book_files.locate(config.folder, name) or ""
    candidates = [instance.sidebars] if instance.sidebars else []
    if not instance.id:
        candidates += [f"sidebars.{suffix}" for suffix in ("js", "ts", "json", "mjs", "cjs")]
    return book_files.first(config.folder, candidates) or ""


BuiltDoc: TypeAlias = Mapping[str, object]
"""A doc's metadata from an earlier build, in any locale."""


def _is_stale(built: BuiltDoc, doc: Doc) -> bool:
    if not built.get("permalink") or string(built.get("version")) not in ("", doc.version):
        return True
    front = built.get("frontMatter")
    return isinstance(front, dict) and doc.address != tuple(
        str(front.get(name) or "") for name in _ADDRESS
    )


def _built_path(built: BuiltDoc, config: SiteConfig, doc: Doc, locale: str) -> str | None:
    """Return a built doc's path in a locale, relative to the site's; None if the build is stale.

    A build is stale if its version or front matter of the doc differs from the source, or if its
    base path differs.
    """
    parts = string(built.get("permalink")).split("/")
    base = ["", *segments(config.base_path)]
    if _is_stale(built, doc) or parts[: len(base)] != base:
        return None
    rest = parts[len(base) :]
    if rest[:1] and rest[0] in config.locales:
        rest = rest[1:]
    return "/".join(rest if locale == config.locale else [locale, *rest])


def _built_docs(
    book_files: BookFiles, config: SiteConfig, instance: DocsInstance
) -> dict[str, BuiltDoc]:
    """Return metadata of an earlier build by source file."""
    plugin = f".docusaurus/docusaurus-plugin-content-docs/{instance.id or 'default'}"
    folder = joined(config.folder, plugin)
    files = (file for file in walk(book_files, folder) if PurePosixPath(file).match("site-*.json"))
    found = (table(parse_json(book_files.text(file) or "")) for file in files)
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
