"""Where a text may be cut: between sentences, at blank lines and top-level statements of code."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from app.domain.chunking.inline import sentence_spans
from app.domain.document import Span
from app.domain.fast_dataclass import fast_dataclass

# Costs of a cut, in the units of `packer`: 1 is some 30 tokens too many in a chunk.
CUT_PART = 1.0
CUT_SENTENCE = 1.5
CUT_BLANK_LINE = 1.0
CUT_TOP_LEVEL = 2.0
CUT_LINE = 6.0
CUT_WORD = 20.0
# Cuts that are made only when nothing else keeps a chunk within its bound.
CUT_EMPTY_SECTION = 100.0
GLUE = 1000.0
HEADING_GLUE = 3000.0

SHORTEST = 24
"""Characters; shorter sentences and lines are not parted from what follows."""

_CLAUSE = re.compile(r"[,;:)\u2014](?=\s)|[\u3001\uff0c\uff1b\uff1a]")
_CLOSERS = frozenset(")]}")
_CONTINUATIONS = ("else", "elif", "except", "finally", "catch", "end", "```", "~~~")


@fast_dataclass(frozen=True, slots=True)
class Tile:
    """A stretch of text between two joints; `cut` is the cost of a cut before it."""

    start: int
    end: int
    cut: float


def prose_tiles(
    text: str,
    language: str,
    limit: int,
    count_tokens: Callable[[str], int],
    split_sentences: Callable[[str, str], list[Span]],
    shortest: int = SHORTEST,
) -> Iterator[Tile]:
    """Sentences; one of more than `limit` tokens is cut at clauses, words, or code points."""
    spans = sentence_spans(text, language, split_sentences)
    for tile in _grouped((Tile(start, end, CUT_SENTENCE) for start, end in spans), shortest):
        yield from _fitted(text, tile, limit, count_tokens)


def code_tiles(
    text: str, limit: int, count_tokens: Callable[[str], int], shortest: int = SHORTEST
) -> Iterator[Tile]:
    """Lines; a line of more than `limit` tokens, and nothing else, is cut inside."""
    for tile in _grouped(_lines(text), shortest):
        yield from _fitted(text, tile, limit, count_tokens)


def _lines(text: str) -> Iterator[Tile]:
    at = 0
    after_blank = False
    for line in text.splitlines(keepends=True):
        start, end = at, at + len(line.rstrip())
        at += len(line)
        if end > start:
            yield Tile(start, end, _line_cut(line, after_blank))
        after_blank = end == start


def _grouped(tiles: Iterable[Tile], shortest: int) -> Iterator[Tile]:
    """The same, with very short ones joined to what follows: a text of ten thousand "}" lines."""
    held: Tile | None = None
    for tile in tiles:
        held = tile if held is None else Tile(held.start, tile.end, held.cut)
        if held.end - held.start >= shortest:
            yield held
            held = None
    if held is not None:
        yield held


def _fitted(
    text: str, tile: Tile, limit: int, count_tokens: Callable[[str], int]
) -> Iterator[Tile]:
    if tile.end - tile.start <= limit or count_tokens(text[tile.start : tile.end]) <= limit:
        yield tile
    else:
        yield from _forced(text, tile.start, tile.end, limit, count_tokens, tile.cut)


def _line_cut(line: str, after_blank: bool) -> float:
    first = line[0]
    top_level = not (first.isspace() or first in _CLOSERS or line.startswith(_CONTINUATIONS))
    if after_blank:
        return CUT_BLANK_LINE if top_level else CUT_TOP_LEVEL
    return CUT_TOP_LEVEL * 2 if top_level else CUT_LINE


def _forced(
    text: str,
    start: int,
    end: int,
    limit: int,
    count_tokens: Callable[[str], int],
    cut: float,
) -> Iterator[Tile]:
    """Pieces of at most `limit` tokens of what has no joint: by clause, word, code point."""
    while start < end:
        stop = _fitting(text, start, end, limit, count_tokens)
        if stop < end:
            stop = _nicer(text, start, stop)
        tail = stop
        while tail > start and text[tail - 1].isspace():
            tail -= 1
        if tail > start:
            yield Tile(start, tail, cut)
        cut = CUT_WORD
        start = stop
        while start < end and text[start].isspace():
            start += 1


def _fitting(
    text: str, start: int, end: int, limit: int, count_tokens: Callable[[str], int]
) -> int:
    """The end of a longest slice from `start`, about, that has at most `limit` tokens."""
    # A token has one code point or more, save in scripts where one code point is several tokens.
    size = min(end - start, limit * 4)
    while size > 1 and count_tokens(text[start : start + size]) > limit:
        size = size * 3 // 4
    return start + size


def _nicer(text: str, start: int, stop: int) -> int:
    """The last clause end in the second half, else the last blank, else `stop`."""
    half = start + (stop - start) // 2
    clauses = [match.end() for match in _CLAUSE.finditer(text, half, stop)]
    if clauses:
        return clauses[-1]
    for at in range(stop, half, -1):
        if text[at - 1].isspace():
            return at
    return stop
