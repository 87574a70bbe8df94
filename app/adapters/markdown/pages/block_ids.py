"""Gives a page's elements the paragraph ids of the book's blocks, matched by source lines."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markdown_it.token import Token

from app.adapters.markdown.pages.html_tags import nesting, tag_of
from app.domain.document import Block, BlockKind

_LINE_END = re.compile(r"\r\n?|\n")
_KIND_OF_TOKEN = {
    "admonition_open": BlockKind.ADMONITION,
    "blockquote_open": BlockKind.QUOTE,
    "bullet_list_open": BlockKind.LIST,
    "fence": BlockKind.CODE,
    "heading_open": BlockKind.HEADING,
    "math_block": BlockKind.MATH,
    "ordered_list_open": BlockKind.LIST,
    "table_open": BlockKind.TABLE,
}


@dataclass(frozen=True, slots=True)
class Extent:
    """A block and its source lines, first and last included."""

    first: int
    last: int
    block: Block


class BlockFinder:
    """The blocks of one source file, by line."""

    def __init__(self, source: str, blocks: Iterable[Block]) -> None:
        starts = [0, *(end.end() for end in _LINE_END.finditer(source))]
        self._blank = [not line.strip() for line in _LINE_END.split(source)]
        extents = [
            Extent(bisect_right(starts, b.start) - 1, bisect_right(starts, b.end - 1) - 1, b)
            for b in blocks
        ]
        self._own = _by_line(extent for extent in extents if not extent.block.included)
        self._included = _by_line(extent for extent in extents if extent.block.included)

    def find(self, token: Token) -> Block | None:
        """Return the smallest block that contains all lines of the token."""
        if token.map is None:
            return None
        first, last = self._lines(token.map)
        holding = [x for x in self._own.get(first, ()) if last <= x.last]
        return min(holding, key=lambda x: x.last - x.first).block if holding else None

    def included_at(self, token: Token) -> list[Block]:
        """Return the blocks included at the token's lines, in order."""
        if token.map is None:
            return []
        first, last = self._lines(token.map)
        found = (x for line in range(first, last + 1) for x in self._included.get(line, ()))
        return list({id(x): x.block for x in found}.values())

    def _lines(self, span: Sequence[int]) -> tuple[int, int]:
        """Convert markdown-it's half-open line range to the first and last non-blank line."""
        first, last = span[0], span[1] - 1
        while last > first and self._blank[min(last, len(self._blank) - 1)]:
            last -= 1
        return first, last


def _by_line(extents: Iterable[Extent]) -> dict[int, list[Extent]]:
    """The extents that contain each line, in order."""
    found: dict[int, list[Extent]] = {}
    for extent in extents:
        for line in range(extent.first, extent.last + 1):
            found.setdefault(line, []).append(extent)
    return found


def tag_blocks(tokens: Iterable[Token], finder: BlockFinder) -> None:
    """Give the outermost elements of each block its paragraph id, and headings their anchor."""
    seen: set[str] = set()
    open_blocks: list[Block | None] = []
    for token in tokens:
        step = nesting(token)
        if step < 0:
            open_blocks.pop()
            continue
        around = open_blocks[-1] if open_blocks else None
        block = finder.find(token) if _is_element(token) else None
        if block is not None and block is not around:
            identify(token, block, seen)
        if step > 0:
            open_blocks.append(block or around)


def tag_included(tokens: Iterable[Token], blocks: Iterable[Block]) -> None:
    """Match the top-level elements of an included file to its blocks, kind by kind.

    All blocks of an include have the span of the include, so lines cannot distinguish them.
    """
    remaining: dict[BlockKind, deque[Block]] = {}
    for block in blocks:
        remaining.setdefault(block.kind, deque()).append(block)
    seen: set[str] = set()
    depth = 0
    for token in tokens:
        if depth == 0 and token.nesting >= 0 and _is_element(token):
            kind = _KIND_OF_TOKEN.get(token.type, BlockKind.PARAGRAPH)
            if remaining.get(kind):
                identify(token, remaining[kind].popleft(), seen)
        depth += nesting(token)


def _is_element(token: Token) -> bool:
    if token.type == "tag" and tag_of(token) is None:
        return False  # a tag that was dropped
    return bool(token.map) and not token.hidden and token.type not in {"inline", "partial"}


def identify(token: Token, block: Block, seen: set[str]) -> None:
    if block.kind is BlockKind.HEADING and block.anchor:
        token.attrSet("id", block.anchor)
    if not block.paragraph_id:
        return
    token.attrSet("data-paragraph-id", block.paragraph_id)
    if "id" not in token.attrs and block.paragraph_id not in seen:
        token.attrSet("id", block.paragraph_id)
    seen.add(block.paragraph_id)
