"""Cross-references between pages: links whose file or anchor does not exist."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from urllib.parse import unquote

from app.adapters.markdown.documents import PageDraft
from app.adapters.markdown.includes import Library, folder_of
from app.domain.document import BlockKind, SourceWarning

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//|[{<$]")
_HTML_ID = re.compile(r"(?:\b(?:id|name|label)\s*=\s*[\"']|[{\s]#|^\[\^)([^\"'\s\]}]+)", re.M)
_LABEL = re.compile(r"^\(([^()\n]+)\)=|^\s*:(?:label|name):\s*(\S+)", re.M)
_PAGE_SUFFIXES = (".md", ".mdx", ".markdown")


def check_references(drafts: Sequence[PageDraft], library: Library) -> list[SourceWarning]:
    """Return a warning for each link within the book that leads nowhere.

    Links to source files and to anchors of the page itself are checked, and of addresses those
    that mdBook writes, `page.html`. What a site's router makes of other addresses is not known.
    """
    anchors = _Anchors(drafts)
    warnings: list[SourceWarning] = []
    for draft in drafts:
        reached: dict[str, int] = {}
        for target in draft.links:
            if _SCHEME.match(target):
                continue
            problem = _problem(target, draft.source.file, library, anchors)
            if problem:
                at = draft.source.flat.find(target, reached.get(target, 0))
                reached[target] = at + 1
                line = draft.source.line(max(at, 0))
                warnings.append(SourceWarning(problem, draft.source.file, line))
    return warnings


def _problem(target: str, file: str, library: Library, anchors: _Anchors) -> str:
    path, _, anchor = unquote(target).partition("#")
    path = path.partition("?")[0]
    if not path:
        known = not anchor or anchors.has(file, anchor)
        return "" if known else f"link to an anchor that this page does not have: #{anchor}"
    candidates = [path] if path.endswith(_PAGE_SUFFIXES) else []
    if path.endswith(".html") and not path.startswith("/") and library.locate("", "book.toml"):
        stem = path.removesuffix(".html")
        candidates = [f"{stem}.md", f"{stem.removesuffix('index')}README.md"]
    if not candidates or path.startswith(("@", "/")):
        return ""
    located = (library.locate(folder_of(file), candidate) for candidate in candidates)
    found = next((candidate for candidate in located if candidate), None)
    if found is None:
        return f"link to a page that does not exist: {path}"
    if anchor and anchors.knows(found) and not anchors.has(found, anchor):
        return f"link to an anchor that {path} does not have: #{anchor}"
    return ""


class _Anchors:
    """The ids that each page offers; found when first asked for."""

    def __init__(self, drafts: Iterable[PageDraft]) -> None:
        self._drafts = {draft.source.file: draft for draft in drafts}
        self._ids: dict[str, set[str]] = {}

    def knows(self, file: str) -> bool:
        return file in self._drafts

    def has(self, file: str, anchor: str) -> bool:
        if file not in self._ids:
            self._ids[file] = _ids_of(self._drafts[file])
        return anchor in self._ids[file] or anchor.startswith(("fn", "user-content-", ":~:"))


def _ids_of(draft: PageDraft) -> set[str]:
    text = draft.source.flat
    ids = {piece.author_id for piece in draft.pieces}
    ids |= {piece.anchor for piece in draft.pieces if piece.kind is BlockKind.HEADING}
    ids |= {match.group(1) for match in _HTML_ID.finditer(text)}
    ids |= {match.group(1) or match.group(2) for match in _LABEL.finditer(text)}
    return ids
