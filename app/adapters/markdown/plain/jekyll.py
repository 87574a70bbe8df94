"""The URLs of Jekyll's pages: permalinks of front matter, collections and the configuration."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from app.adapters.markdown.book_files import BookFiles, folder_of
from app.adapters.markdown.site_map import front_matter, table
from app.adapters.markdown.source import front_text

_PLACEHOLDER = re.compile(r":([a-z_]+)")
_NOT_IN_NAMES = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class Permalinks:
    """The paths of a site's pages; without a configuration, those of Jekyll's defaults."""

    book_files: BookFiles
    config: Mapping[str, object]

    def path(self, file: str) -> str:
        """Return a page's path after the base URL."""
        front = front_matter(self.book_files, file) if self.config else {}
        label, inner = self._collection(file)
        page = PurePosixPath(inner)
        values = {
            "collection": label,
            "path": str(page.with_suffix("")) if label else folder_of(file),
            "basename": page.stem,
            "name": _NOT_IN_NAMES.sub("-", page.stem).strip("-").lower(),
            "output_ext": ".html",
        }
        values["title"] = front_text(front, "slug") or values["name" if label else "basename"]
        template = front_text(front, "permalink") or self._template(label, page.stem)
        filled = _PLACEHOLDER.sub(lambda found: values.get(found[1], ""), template)
        return re.sub(r"/{2,}", "/", filled).lstrip("/")

    def _collection(self, file: str) -> tuple[str, str]:
        """Return a file's collection and its path in there; "" for a page."""
        folder = str(self.config.get("collections_dir") or "").strip("/")
        inner = file.removeprefix(f"{folder}/") if folder else file
        first, _, rest = inner.partition("/")
        label = first.removeprefix("_")
        collections = table(self.config, "collections")
        in_collection = rest and first.startswith("_") and label in collections
        return (label, rest) if in_collection else ("", file)

    def _template(self, label: str, stem: str) -> str:
        if not label:
            is_index = stem.lower() in ("index", "readme")
            return "/:path/" if is_index else f"/:path/:basename{self._suffix()}"
        own = table(self.config, "collections", label).get("permalink")
        return str(own) if own else f"/:collection/:path{self._suffix()}"

    def _suffix(self) -> str:
        """Return how the configured permalinks end; only posts have the rest of them."""
        style = str(self.config.get("permalink") or "date")
        if style == "pretty" or style.endswith("/"):
            return "/"
        return ":output_ext" if ":" not in style or style.endswith(":output_ext") else ""
