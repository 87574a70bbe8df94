"""Docusaurus: routes, sidebars, versions and locales of its docs plugin."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from app.adapters.markdown.docusaurus.javascript import Value, read_literal
from app.adapters.markdown.docusaurus.sidebars import (
    Doc,
    is_folder_page,
    order_docs,
    strip_number,
    strip_numbers,
)
from app.adapters.markdown.includes import Library, folder_of
from app.adapters.markdown.parser.anchors import DOCUSAURUS
from app.adapters.markdown.parser.markup import Dialect
from app.adapters.markdown.site_map import (
    Layout,
    Page,
    SiteGenerator,
    configured_base,
    join_url,
    markdown_files,
    site_base,
    walk,
)
from app.adapters.markdown.source import front_text, make_source
from app.domain.document import Site, SourceWarning
from app.domain.errors import FileRefused

DIALECT = Dialect(mdx=True, directives=True)
STYLE = DOCUSAURUS
CONFIG_NAMES = (
    "site.json",
    "docusaurus.config.js",
    "docusaurus.config.ts",
    "docusaurus.config.mjs",
    "docusaurus.config.cjs",
    "docusaurus.config.mts",
)

_VERSIONED = re.compile(r"^versioned_docs/version-(?P<version>[^/]+)/")
_LOCALIZED = re.compile(
    r"^i18n/(?P<locale>[^/]+)/docusaurus-plugin-content-docs/(?:current|version-(?P<version>[^/]+))/"
)


@dataclass(frozen=True, slots=True)
class SiteConfig:
    """What of the site's configuration decides pages, order and addresses."""

    folder: str
    """The site's folder relative to the book's; "" for the book's own."""
    title: str = ""
    url: str = ""
    base_path: str = "/"
    docs_path: str = "docs"
    route: str = "docs"
    sidebars: str = ""
    trailing_slash: bool | None = None
    language: str = ""
    """Of the default locale, if the site names one."""
    last_version: str = ""
    math: bool = False
    versions: tuple[str, ...] = ()

    @property
    def locale(self) -> str:
        return self.language or "en"

    @property
    def latest(self) -> str:
        """The version without a segment in its URLs; "current" where none is released."""
        return self.last_version or (self.versions[0] if self.versions else "current")


def find_config(library: Library) -> str | None:
    """Return the path of the site's configuration file, or None."""
    for folder in ("", "website/", "docs/", "site/"):
        for name in CONFIG_NAMES:
            if library.locate("", f"{folder}{name}"):
                return f"{folder}{name}"
    return None


def open_docusaurus(library: Library, base_url: str) -> Layout:
    """Read the docs of the site whose configuration is in the folder or its `website/`."""
    config = read_config(library)
    warnings: list[SourceWarning] = []
    file = find_config(library) or ""
    text = library.text(file) or ""
    configured = "" if base_url else configured_base(config.url, file, text, warnings)
    base = site_base(base_url, configured, config.base_path)
    files = _doc_files(library, config)
    docs = [_doc(library, config, file) for file in files]
    built = _built_permalinks(library, config)
    pages = {doc.file: _page(doc, config, base, built) for doc in docs if not doc.draft}
    shown = [doc for doc in docs if _is_default(doc, config) and not doc.draft]
    ordered = order_docs(library, _sidebar_file(library, config), shown, warnings)
    listed = [
        replace(pages[doc.file], title=doc.label, chapter=chapter) for doc, chapter in ordered
    ]
    taken = {page.file for page in listed}
    dialect = replace(DIALECT, math=config.math or find_config(library) is None)
    return Layout(
        Site.DOCUSAURUS,
        dialect,
        STYLE,
        tuple(listed),
        tuple(page for file, page in pages.items() if file not in taken),
        config.title,
        base,
        config.language,
        tuple(warnings),
        site_root=config.folder,
        pages_root=_under(config.folder, config.docs_path),
    )


def read_config(library: Library) -> SiteConfig:
    """Read `site.json` or the literals of `docusaurus.config.*`; defaults where there is none."""
    path = find_config(library)
    if path is None:
        return SiteConfig("", docs_path="docs" if library.has_folder("docs") else ".")
    folder = folder_of(path)
    text = library.settings(path)
    value: Value = None
    if path.endswith(".json"):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = None
    else:
        value = read_literal(text)
    found = value if isinstance(value, dict) else {}
    docs = _docs_options(found)
    trailing = found.get("trailingSlash")
    versions = _json_list(library.text(_under(folder, "versions.json")))
    i18n = found.get("i18n")
    locale = i18n.get("defaultLocale") if isinstance(i18n, dict) else None
    return SiteConfig(
        folder,
        _string(found.get("title")) or _scan(text, "title"),
        _string(found.get("url")) or _scan(text, "url"),
        _string(found.get("baseUrl")) or _scan(text, "baseUrl") or "/",
        _string(docs.get("path")) or "docs",
        _string(docs.get("routeBasePath")) if "routeBasePath" in docs else "docs",
        _string(docs.get("sidebarPath")) or _scan(text, "sidebarPath"),
        trailing if isinstance(trailing, bool) else None,
        _string(locale).split("-")[0],
        _string(docs.get("lastVersion")),
        "remark-math" in text
        or "remarkMath" in text
        or (path.endswith("site.json") and "math" in text),
        tuple(versions),
    )


def _docs_options(config: dict[str, Value]) -> dict[str, Value]:
    """Find the docs plugin's options: of the classic preset, of a plugin, or at the top."""
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
            if "content-docs" in _string(entry[0]):
                return entry[1]
    return {}


def _string(value: Value) -> str:
    return value if isinstance(value, str) else ""


def _scan(text: str, key: str) -> str:
    match = re.search(rf"^[ \t]*{key}:\s*(?:require\.resolve\()?[\"'`]([^\"'`\n]*)", text, re.M)
    return match.group(1) if match else ""


def _json_list(text: str | None) -> list[str]:
    try:
        loaded = json.loads(text or "[]")
    except (ValueError, RecursionError):
        return []
    return [item for item in loaded if isinstance(item, str)] if isinstance(loaded, list) else []


def _under(folder: str, path: str) -> str:
    parts: list[str] = folder.split("/") if folder else []
    for part in PurePosixPath(path).parts:
        if part == ".." and parts:
            parts.pop()
        elif part not in (".", ".."):
            parts.append(part)
    return "/".join(parts)


def _doc_files(library: Library, config: SiteConfig) -> list[str]:
    folders = [_under(config.folder, config.docs_path)]
    folders += [_under(config.folder, name) for name in ("versioned_docs", "i18n")]
    files: list[str] = []
    for folder in folders:
        if not library.has_folder(folder):
            continue
        for file in markdown_files(library, folder):
            inner = file[len(folder) + 1 :] if folder else file
            if folder.endswith("i18n") and "docusaurus-plugin-content-docs" not in inner:
                continue
            if not any(part.startswith("_") for part in inner.split("/")):
                files.append(file)
    return list(dict.fromkeys(files))


def _doc(library: Library, config: SiteConfig, file: str) -> Doc:
    docs_folder = _under(config.folder, config.docs_path)
    relative = (
        file[len(config.folder) + 1 :]
        if config.folder and file.startswith(config.folder + "/")
        else file
    )
    version, locale = "current", config.locale
    versioned, localized = _VERSIONED.match(relative), _LOCALIZED.match(relative)
    if versioned:
        version, inner = versioned["version"], relative[versioned.end() :]
    elif localized:
        version, locale = localized["version"] or "current", localized["locale"]
        inner = relative[localized.end() :]
    else:
        inner = file[len(docs_folder) + 1 :] if docs_folder else file
    try:
        text = library.text(file) or ""
        head = text[:4].strip("\ufeff").startswith("---")
        front = make_source(text[: text.find("\n---", 3) + 8] if head else "", file).front_matter
    except FileRefused:
        front = {}  # refused again when it is read as a page
    path = PurePosixPath(inner)
    folder = "" if str(path.parent) == "." else str(path.parent)
    strips = front.get("parse_number_prefixes") is not False
    stem, number = strip_number(path.stem) if strips else (path.stem, None)
    base_id = front_text(front, "id") or stem
    clean = strip_numbers(folder) if strips and folder else folder
    return Doc(
        file,
        f"{clean}/{base_id}" if clean else base_id,
        _slug(path.stem, folder, clean, base_id, front_text(front, "slug")),
        folder,
        path.stem,
        front_text(front, "sidebar_label") or front_text(front, "title"),
        _position(front, number),
        version,
        locale,
        front.get("draft") is True,
        front.get("unlisted") is True,
    )


def _position(front: dict[str, object], number: int | None) -> float | None:
    value = front.get("sidebar_position")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    return float(number) if number is not None else None


def _slug(stem: str, folder: str, clean_folder: str, base_id: str, front_slug: str) -> str:
    if front_slug.startswith("/"):
        return front_slug
    root = f"/{clean_folder}/" if clean_folder else "/"
    if front_slug:
        return _resolve(root, front_slug)
    if is_folder_page(stem, folder):
        return root
    return _resolve(root, base_id)


def _resolve(root: str, target: str) -> str:
    parts = [part for part in root.split("/") if part]
    pieces = target.split("/")
    for part in pieces:
        if part == "..":
            del parts[-1:]
        elif part not in (".", ""):
            parts.append(part)
    return "/" + "/".join(parts) + ("/" if target.endswith("/") else "")


def _page(doc: Doc, config: SiteConfig, base: str, built: dict[str, str]) -> Page:
    source = f"@site/{doc.file[len(config.folder) + 1 :] if config.folder else doc.file}"
    if source in built:
        path = built[source]
        prefix = "/" + config.base_path.strip("/")
        inner = path[len(prefix) :] if prefix != "/" and path.startswith(prefix) else path
        return Page(
            doc.file, join_url(base, inner, encoded=True), doc.label, "", _language(doc, config)
        )
    segments = [] if doc.locale == config.locale else [doc.locale]
    segments += [part for part in config.route.split("/") if part]
    if doc.version != config.latest:
        segments.append("next" if doc.version == "current" else doc.version)
    path = "/".join([*segments, doc.slug.lstrip("/")])
    if config.trailing_slash is True:
        path = path.rstrip("/") + "/"
    elif config.trailing_slash is False:
        path = path.rstrip("/")
    return Page(doc.file, join_url(base, path, encoded=True), doc.label, "", _language(doc, config))


def _language(doc: Doc, config: SiteConfig) -> str:
    return config.language if doc.locale == config.locale else doc.locale


def _is_default(doc: Doc, config: SiteConfig) -> bool:
    return doc.version == config.latest and doc.locale == config.locale


def _sidebar_file(library: Library, config: SiteConfig) -> str:
    """Return the sidebars file of the version that readers see; "" for a generated one."""
    if config.latest != "current":
        name = f"versioned_sidebars/version-{config.latest}-sidebars.json"
        return library.locate(config.folder, name) or ""
    candidates = [config.sidebars] if config.sidebars else []
    candidates += ["sidebars.js", "sidebars.ts", "sidebars.json", "sidebars.mjs", "sidebars.cjs"]
    for candidate in candidates:
        found = library.locate(config.folder, candidate)
        if found:
            return found
    return ""


def _built_permalinks(library: Library, config: SiteConfig) -> dict[str, str]:
    """Read source -> permalink from the metadata that a build leaves behind."""
    permalinks: dict[str, str] = {}
    folder = _under(config.folder, ".docusaurus/docusaurus-plugin-content-docs/default")
    for file in walk(library, folder) if library.has_folder(folder) else ():
        if not PurePosixPath(file).match("site-*.json"):
            continue
        try:
            loaded = json.loads(library.text(file) or "")
        except (ValueError, RecursionError):
            continue
        if isinstance(loaded, dict):
            source, permalink = loaded.get("source"), loaded.get("permalink")
            if isinstance(source, str) and isinstance(permalink, str):
                permalinks[source] = permalink
    return permalinks


GENERATOR = SiteGenerator(
    open_docusaurus,
    lambda library: find_config(library) is not None,
    replace(DIALECT, math=True),
    STYLE,
)
