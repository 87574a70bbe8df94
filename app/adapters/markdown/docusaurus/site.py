"""Docusaurus: routes, sidebars, versions and locales of its docs plugin."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
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
from app.adapters.markdown.docusaurus.syntax import DIALECT, STYLE
from app.adapters.markdown.includes import Library, folder_of
from app.adapters.markdown.site_map import (
    Page,
    SiteGenerator,
    SiteSettings,
    configured_base,
    content_folder,
    files_beside,
    inside,
    join_url,
    markdown_files,
    site_base,
    table,
    under,
    walk,
)
from app.adapters.markdown.source import front_text, make_source
from app.domain.document import Site, SourceWarning
from app.domain.errors import FileRefused

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
    language: str = ""
    """The language of the default locale; "" if none is set."""
    last_version: str = ""
    math: bool = False
    versions: tuple[str, ...] = ()

    @property
    def locale(self) -> str:
        return self.language or "en"

    @property
    def latest(self) -> str:
        """The version whose URLs have no version segment; "current" if none is released."""
        return self.last_version or (self.versions[0] if self.versions else "current")


def find_config(library: Library) -> str | None:
    """Return the path of the site's configuration file, or None."""
    for folder in ("", "website/", "docs/", "site/"):
        for name in CONFIG_NAMES:
            if library.locate("", f"{folder}{name}"):
                return f"{folder}{name}"
    return None


def read_settings(library: Library, base_url: str, warnings: list[SourceWarning]) -> SiteSettings:
    """Read the docs of the site whose configuration is in the folder or its `website/`."""
    file = find_config(library)
    config = read_config(library, file)
    configured = ""
    if file and not base_url:
        configured = configured_base(config.url, file, library.text(file) or "", warnings)
    base = site_base(base_url, configured, config.base_path)
    docs = [_doc(library, config, file) for file in _doc_files(library, config)]
    built = _built_permalinks(library, config)
    pages = {doc.file: _page(doc, config, base, built) for doc in docs if not doc.draft}
    shown = [doc for doc in docs if _is_default(doc, config) and not doc.draft]
    ordered = order_docs(library, _sidebar_file(library, config), shown, warnings)
    return SiteSettings(
        base,
        config.title,
        config.language,
        _under(config.folder, config.docs_path),
        pages=[
            replace(pages[doc.file], title=doc.label, chapter=chapter) for doc, chapter in ordered
        ],
        every_page=list(pages.values()),
        site_root=config.folder,
        dialect=replace(DIALECT, math=config.math or file is None),
    )


def read_config(library: Library, path: str | None) -> SiteConfig:
    """Read `site.json` or the literals of `docusaurus.config.*`; defaults where there is none."""
    if path is None:
        content = content_folder(library)
        if content:
            return SiteConfig("", docs_path=content, route="")
        return SiteConfig("", docs_path="docs" if library.has_folder("docs") else ".")
    folder = folder_of(path)
    text = library.settings(path)
    value = _json(text) if path.endswith(".json") else read_literal(text)
    found = value if isinstance(value, dict) else {}
    docs = _docs_options(found)
    trailing = found.get("trailingSlash")

    def setting(options: dict[str, Value], key: str, default: str = "") -> str:
        return _string(options.get(key)) or _scan(text, key) or default

    return SiteConfig(
        folder,
        setting(found, "title"),
        setting(found, "url"),
        setting(found, "baseUrl", "/"),
        _string(docs.get("path")) or "docs",
        _string(docs.get("routeBasePath", "docs")),
        setting(docs, "sidebarPath"),
        trailing if isinstance(trailing, bool) else None,
        _string(table(found, "i18n").get("defaultLocale")).split("-")[0],
        _string(docs.get("lastVersion")),
        _has_math(path, text),
        tuple(_json_list(library.text(_under(folder, "versions.json")))),
    )


def _has_math(path: str, text: str) -> bool:
    words = ("remark-math", "remarkMath", *(["math"] if path.endswith("site.json") else []))
    return any(word in text for word in words)


def _json(text: str) -> Value:
    try:
        loaded: Value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return loaded


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


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


def _scan(text: str, key: str) -> str:
    match = re.search(rf"^[ \t]*{key}:\s*(?:require\.resolve\()?[\"'`]([^\"'`\n]*)", text, re.M)
    return match.group(1) if match else ""


def _json_list(text: str | None) -> list[str]:
    loaded = _json(text or "[]")
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
            inner = inside(folder, file)
            if folder.endswith("i18n") and "docusaurus-plugin-content-docs" not in inner:
                continue
            if not any(part.startswith("_") for part in inner.split("/")):
                files.append(file)
    return list(dict.fromkeys(files))


def _doc(library: Library, config: SiteConfig, file: str) -> Doc:
    version, locale, inner = _edition(config, file)
    front = _front_matter(library, file)
    path = PurePosixPath(inner)
    folder = "" if str(path.parent) == "." else str(path.parent)
    stem, number, clean = path.stem, None, folder
    if front.get("parse_number_prefixes") is not False:
        stem, number = strip_number(path.stem)
        clean = strip_numbers(folder) if folder else folder
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
    )


def _edition(config: SiteConfig, file: str) -> tuple[str, str, str]:
    """Return a doc's version and locale, and its path inside the docs folder of that edition."""
    in_site = config.folder and file.startswith(config.folder + "/")
    relative = inside(config.folder, file) if in_site else file
    if versioned := _VERSIONED.match(relative):
        return versioned["version"], config.locale, relative[versioned.end() :]
    if localized := _LOCALIZED.match(relative):
        rest = relative[localized.end() :]
        return localized["version"] or "current", localized["locale"], rest
    return "current", config.locale, inside(_under(config.folder, config.docs_path), file)


def _front_matter(library: Library, file: str) -> dict[str, object]:
    try:
        text = library.text(file) or ""
        if not text[:4].strip("\ufeff").startswith("---"):
            return {}
        return make_source(text[: text.find("\n---", 3) + 8], file).front_matter
    except FileRefused:
        return {}  # refused again when it is read as a page


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
    path = built.get(f"@site/{inside(config.folder, doc.file)}")
    if path is None:
        path = _route(doc, config)
    else:
        prefix = "/" + config.base_path.strip("/")
        path = path.removeprefix(prefix) if prefix != "/" else path
    return Page(doc.file, join_url(base, path, encoded=True), doc.label, "", _language(doc, config))


def _route(doc: Doc, config: SiteConfig) -> str:
    """Return the path that Docusaurus gives a doc, relative to the site's."""
    segments = [] if doc.locale == config.locale else [doc.locale]
    segments += [part for part in config.route.split("/") if part]
    if doc.version != config.latest:
        segments.append("next" if doc.version == "current" else doc.version)
    path = "/".join([*segments, doc.slug.lstrip("/")])
    if config.trailing_slash is None:
        return path
    return path.rstrip("/") + ("/" if config.trailing_slash else "")


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
    """Return source -> permalink from the metadata of an earlier build."""
    permalinks: dict[str, str] = {}
    folder = _under(config.folder, ".docusaurus/docusaurus-plugin-content-docs/default")
    for file in walk(library, folder) if library.has_folder(folder) else ():
        if not PurePosixPath(file).match("site-*.json"):
            continue
        loaded = table(_json(library.text(file) or ""))
        source, permalink = loaded.get("source"), loaded.get("permalink")
        if isinstance(source, str) and isinstance(permalink, str):
            permalinks[source] = permalink
    return permalinks


def _link_files(path: str, folder: str, root: str) -> Sequence[str]:
    """A link starts from its page's folder or from that of the docs."""
    return [*files_beside(path, folder, root), *files_beside(path, root, root)]


GENERATOR = SiteGenerator(
    Site.DOCUSAURUS,
    replace(DIALECT, math=True),
    STYLE,
    lambda library: find_config(library) is not None,
    read_settings,
    _link_files,
)
