"""Docusaurus sidebars: written out, generated from folders, or both."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from app.adapters.markdown.book_files import BookFiles
from app.adapters.markdown.docusaurus.javascript import string
from app.adapters.markdown.docusaurus.modules import Modules
from app.adapters.markdown.site_map import TocEntry, chapters, line_of, table
from app.adapters.markdown.source import UNREADABLE, load_yaml
from app.domain.document import SourceWarning

_VERSION_OR_DATE = re.compile(r"^\d+[-_.]\d+.*$")
_NUMBER_PREFIX = re.compile(r"^(?P<number>\d+)\s*[-_.]+\s*(?P<suffix>[^-_.\s].*)$")


def strip_number(name: str) -> tuple[str, int | None]:
    """Split a number prefix from a file or folder name, as Docusaurus's default parser does."""
    if _VERSION_OR_DATE.match(name):
        return name, None
    match = _NUMBER_PREFIX.match(name)
    return (match["suffix"], int(match["number"])) if match else (name, None)


def strip_numbers(path: str) -> str:
    """Strip the number prefix of every folder in `path`."""
    return "/".join(strip_number(part)[0] for part in path.split("/"))


def is_folder_page(stem: str, folder: str) -> bool:
    """`index`, `README` and `<folder>/<folder>` are the page of their folder."""
    return stem.lower() in ("index", "readme", folder.rpartition("/")[2].lower() or "index")


@dataclass(frozen=True, slots=True)
class Doc:
    """A page of the docs plugin."""

    file: str
    id: str
    slug: str
    folder: str
    """Relative to the docs folder, with number prefixes."""
    stem: str
    label: str
    position: float
    """Among the pages of its folder; infinite if unknown."""
    version: str
    locale: str
    draft: bool
    unlisted: bool
    address: tuple[str, ...]
    """The values in its front matter that determine its path."""


_UNREAD = "no sidebar could be read; pages are ordered by folder"
_COMPUTED = "the sidebar computes items: pages that it does not name follow, ordered by folder"


def order_docs(
    book_files: BookFiles,
    sidebar_file: str,
    docs: Sequence[Doc],
    warnings: list[SourceWarning],
    *,
    numbered: bool,
) -> list[tuple[Doc, str]]:
    """Return (doc, chapter) in reading order; docs that no sidebar shows are left out."""
    tree = _Tree(book_files, docs, sidebar_file, warnings, numbered)
    if sidebar_file:
        value = Modules(book_files).default(sidebar_file)
        if isinstance(value, dict) and value:
            for sidebar in value.values():
                tree.add_items(sidebar, 1)
            if not tree.is_computed:
                return tree.ordered()
        warnings.append(SourceWarning(_COMPUTED if value else _UNREAD, sidebar_file, 1))
    tree.add_folder("", 1)
    return tree.ordered()


class _Tree:
    """Collects pages and their groups in reading order, each page once."""

    def __init__(
        self,
        book_files: BookFiles,
        docs: Sequence[Doc],
        sidebar_file: str,
        warnings: list[SourceWarning],
        numbered: bool,
    ) -> None:
        self._book_files = book_files
        self._docs = docs
        self._by_id = {doc.id: doc for doc in docs}
        self._version = f"{PurePosixPath(sidebar_file).name.removesuffix('-sidebars.json')}/"
        self._file = sidebar_file
        self._warnings = warnings
        self._numbered = numbered
        self._found: list[tuple[TocEntry, Doc | None]] = []
        self.is_computed = False
        """Whether an item is no literal, so that pages may be missing."""

    def ordered(self) -> list[tuple[Doc, str]]:
        """Return each page with its chapter."""
        seen: set[str] = set()
        result: list[tuple[Doc, str]] = []
        entries = [entry for entry, _ in self._found]
        for (_, doc), chapter in zip(self._found, chapters(entries), strict=True):
            if doc is not None and doc.file not in seen:
                seen.add(doc.file)
                result.append((doc, chapter.title or doc.label))
        return result

    def _add(self, doc: Doc | None, title: str, depth: int) -> None:
        self._found.append((TocEntry(doc.file if doc else "", title, depth), doc))

    def add_items(self, items: object, depth: int) -> None:
        """Add a sidebar's items: ids, categories, shorthand `{label: [items]}`."""
        if isinstance(items, dict) and "type" not in items:
            for label, inner in items.items():
                self._add(None, label, depth)
                self.add_items(inner, depth + 1)
            return
        for item in items if isinstance(items, list) else [items]:
            if isinstance(item, str):
                self._add_id(item, "", depth)
            elif isinstance(item, dict):
                self._add_object(item, depth)
            elif item is None:
                self.is_computed = True

    def _add_object(self, item: dict[str, object], depth: int) -> None:
        kind, name = item.get("type"), string(item.get("label"))
        if kind == "doc" and isinstance(item.get("id"), str):
            self._add_id(str(item["id"]), name, depth)
        elif kind == "category":
            self._add(self._category_page(item.get("link")), name, depth)
            self.add_items(item.get("items", []), depth + 1)
        elif kind == "autogenerated":
            self.add_folder(string(item.get("dirName")).strip("./"), depth)
        elif kind is None:
            self.add_items(item, depth)

    def _category_page(self, link: object) -> Doc | None:
        """Return the page that a category links to, if it is one of the docs."""
        return self._doc(string(link.get("id"))) if isinstance(link, dict) else None

    def _doc(self, identifier: str) -> Doc | None:
        """Return the doc with an id; Docusaurus 2 wrote `version-1.0/id` for those of a version."""
        return self._by_id.get(identifier) or self._by_id.get(
            identifier.removeprefix(self._version)
        )

    def _add_id(self, identifier: str, label: str, depth: int) -> None:
        doc = self._doc(identifier)
        if doc is not None:
            self._add(doc, label or doc.label, depth)
            return
        text = self._book_files.text(self._file) or ""
        line = max(line_of(text, f"'{identifier}'"), line_of(text, f'"{identifier}"'))
        message = f"listed in the sidebar but missing: {identifier}"
        self._warnings.append(SourceWarning(message, self._file, line))

    def add_folder(self, folder: str, depth: int) -> None:
        """Add a folder's pages and subfolders by position, then by name."""
        entries = [*self._ranked_pages(folder), *self._ranked_folders(folder)]
        for _, _, entry in sorted(entries, key=lambda ranked: ranked[:2]):
            if isinstance(entry, Doc):
                self._add(entry, entry.label, depth)
            else:
                self._add_subfolder(entry, depth)

    def _ranked_pages(self, folder: str) -> Iterator[tuple[float, str, Doc | str]]:
        """Yield position, name and page of a folder's listed pages, except its index page."""
        for doc in self._docs:
            is_own = bool(folder) and is_folder_page(doc.stem, folder)
            if doc.folder == folder and not is_own and not doc.unlisted:
                yield doc.position, doc.stem, doc

    def _ranked_folders(self, folder: str) -> Iterator[tuple[float, str, Doc | str]]:
        """Yield position, name and path of a folder's subfolders."""
        prefix = f"{folder}/" if folder else ""
        deeper = (doc.folder for doc in self._docs if doc.folder != folder)
        names = {each[len(prefix) :].split("/")[0] for each in deeper if each.startswith(prefix)}
        for name in names:
            position = self._category(f"{prefix}{name}")[1]
            if position is None:
                position = self._split(name)[1]
            yield math.inf if position is None else position, name, f"{prefix}{name}"

    def _add_subfolder(self, folder: str, depth: int) -> None:
        label = self._category(folder)[0]
        inside = (doc for doc in self._docs if doc.folder == folder)
        page = next((doc for doc in inside if is_folder_page(doc.stem, folder)), None)
        name = label or (page.label if page else "") or self._split(folder.rpartition("/")[2])[0]
        self._add(page, name, depth)
        self.add_folder(folder, depth + 1)

    def _split(self, name: str) -> tuple[str, int | None]:
        """Return a folder's name without its number, and the number, if the site numbers them."""
        return strip_number(name) if self._numbered else (name, None)

    def _category(self, folder: str) -> tuple[str, float | None]:
        """Return the label and position in a folder's `_category_` file."""
        inside = next(doc for doc in self._docs if f"{doc.folder}/".startswith(f"{folder}/"))
        base = inside.file.rsplit("/", inside.folder.count("/") - folder.count("/") + 1)[0]
        names = ("_category_.json", "_category_.yml", "_category_.yaml")
        file = self._book_files.first(base, names)
        if file is None:
            return "", None
        try:
            loaded = table(load_yaml(self._book_files.text(file) or "", file))
        except UNREADABLE:
            message = "is not YAML or JSON: label and position are unknown; correct it"
            self._warnings.append(SourceWarning(message, file, 1))
            return "", None
        position = loaded.get("position")
        number = float(position) if isinstance(position, (int, float)) else None
        return str(loaded.get("label") or ""), number
