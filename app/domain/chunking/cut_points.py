"""Where a text may be cut, and which neighbouring blocks belong together."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from app.domain.chunking.tools import ChunkingTools
from app.domain.document import Block, BlockKind, Span
from app.domain.fences_and_tables import is_fence_or_table, open_fence, whole_lines

# Costs of a cut in the units of `packer`: 1 equals about 30 tokens above the target size.
CUT_PART = 1.0
CUT_SENTENCE = 1.5
CUT_BLANK_LINE = 1.0
CUT_TOP_LEVEL = 2.0
CUT_LINE = 6.0
CUT_WORD = 20.0
GLUE = 1000.0
"""Cut only if a chunk would exceed its maximum otherwise."""

_SHORTEST = 24
"""Characters; a shorter sentence or line stays with the next one."""
_LINEWISE = frozenset({BlockKind.CODE, BlockKind.MATH})
_FORMULA = re.compile(r"\$\$[^$]{1,2000}\$\$|\$(?=\S)[^$\n]{1,400}(?<=\S)\$(?!\d)")
_CLAUSE = re.compile(r"[,;:)\u2014](?=\s)|[\u3001\uff0c\uff1b\uff1a]")
_BLANK = re.compile(r"\s+")
_CLOSERS = frozenset(")]}")
_CONTINUATIONS = ("else", "elif", "except", "finally", "catch", "end", "```", "~~~")


class Segment(NamedTuple):
    """A stretch of text between two cut points."""

    start: int
    end: int
    cut: float
    """Cost of a cut before it."""
    head: Span | None = None
    """First line of the fence, or header of the table, that began before this segment."""


def segments(
    text: str, kind: BlockKind, language: str, limit: int, tools: ChunkingTools
) -> Iterator[Segment]:
    """Yield the lines of code or the sentences of other text, each of at most `limit` tokens.

    A longer one is cut at clauses, words or code points. A fence or table inside the text is one
    segment; if it is too long, its lines are, with its beginning as their head.
    """
    if kind in _LINEWISE and not open_fence(text.partition("\n")[0]):
        yield from _within_limit(text, _joined_short(_lines(text)), limit, tools.count_tokens)
        return
    at = 0
    for line in [text] if kind is BlockKind.PARAGRAPH else whole_lines(text):
        if not is_fence_or_table(line) or kind is BlockKind.PARAGRAPH:
            found = sentence_segments(line, language, tools)
            inner = _within_limit(line, found, limit, tools.count_tokens)
        elif tools.count_tokens(line) <= limit:
            inner = iter([Segment(0, len(line.rstrip()), CUT_PART)])
        else:
            inner = _lines_below_head(line, limit, tools.count_tokens)
        for start, end, cut, head in inner:
            moved = head and (at + head[0], at + head[1])
            yield Segment(at + start, at + end, cut, moved)
        at += len(line)


def sentence_segments(text: str, language: str, tools: ChunkingTools) -> Iterator[Segment]:
    """Yield the sentences; short ones are joined to the next, and none ends inside a formula."""
    as_words = _FORMULA.sub(lambda formula: "x" * len(formula[0]), text) if "$" in text else text
    spans = tools.split_sentences(as_words, language)
    return _joined_short(Segment(start, end, CUT_SENTENCE) for start, end in spans)


def _lines_below_head(
    text: str, limit: int, count_tokens: Callable[[str], int]
) -> Iterator[Segment]:
    """Yield the lines of a fence or table that is too long, each with its beginning as head."""
    lines = text.split("\n", 2)
    head = (0, len(lines[0] if open_fence(lines[0]) else "\n".join(lines[:2])))
    size = count_tokens(text[: head[1]]) + 2
    repeats = size * 2 <= limit
    found = _joined_short(_lines(text))
    for one in _within_limit(text, found, limit - size if repeats else limit, count_tokens):
        yield one._replace(head=head if repeats and one.start > head[1] else None)


def _lines(text: str) -> Iterator[Segment]:
    at = 0
    after_blank = False
    for line in text.splitlines(keepends=True):
        start, end = at, at + len(line.rstrip())
        at += len(line)
        if end > start:
            yield Segment(start, end, _line_cut(line, after_blank))
        after_blank = end == start


def _line_cut(line: str, after_blank: bool) -> float:
    first = line[0]
    top_level = not (first.isspace() or first in _CLOSERS or line.startswith(_CONTINUATIONS))
    if after_blank:
        return CUT_BLANK_LINE if top_level else CUT_TOP_LEVEL
    return CUT_TOP_LEVEL * 2 if top_level else CUT_LINE


def _joined_short(found: Iterable[Segment]) -> Iterator[Segment]:
    """Join short segments to the next, so that ten thousand "}" lines stay cheap."""
    held: Segment | None = None
    for segment in found:
        held = segment if held is None else held._replace(end=segment.end)
        if held.end - held.start >= _SHORTEST:
            yield held
            held = None
    if held is not None:
        yield held


def _within_limit(
    text: str, found: Iterable[Segment], limit: int, count_tokens: Callable[[str], int]
) -> Iterator[Segment]:
    for one in found:
        if one.end - one.start <= limit or count_tokens(text[one.start : one.end]) <= limit:
            yield one
        else:
            yield from _cut_anywhere(text, one, limit, count_tokens)


def _cut_anywhere(
    text: str, segment: Segment, limit: int, count_tokens: Callable[[str], int]
) -> Iterator[Segment]:
    """Split text without cut points, by clause, word or code point, into at most `limit` tokens."""
    start, end, cut, _ = segment
    while start < end:
        size = min(end - start, limit * 4)  # in some scripts one code point is several tokens
        while size > 1 and count_tokens(text[start : start + size]) > limit:
            size = size * 3 // 4
        stop = start + size
        if stop < end:
            half = start + size // 2
            clauses = [match.end() for match in _CLAUSE.finditer(text, half, stop)]
            words = [match.end() for match in _BLANK.finditer(text, half, stop)]
            stop = (clauses or words or [stop])[-1]
        tail = start + len(text[start:stop].rstrip())
        if tail > start:
            yield Segment(start, tail, cut)
        cut = CUT_WORD
        start = end - len(text[stop:end].lstrip())


_LEAD_IN_ENDS = (":", "\uff1a")
_AFTER_COLON = "\"'*_)" + "".join(filter(str.isspace, map(chr, range(0x3001))))
"""Characters that may follow the colon: quotes, mark-up and blanks."""
_LEAD_IN_WORDS = re.compile(
    r"\b(?:the following|below)\b[^.?!]{0,120}[.]?\s*$"
    r"|\b(?:table|figure|listing|example|list|code|snippet)\b[^.?!]{0,60}"
    r"\b(?:shows?|lists?|below|follows|summari[sz]es)\b[^.?!]{0,120}[.]?\s*$",
    re.IGNORECASE,
)
_POINTERS = ("follow", "below", "show", "list", "summari")
"""Every match of `_LEAD_IN_WORDS` contains one of these: a cheap test to skip the regex."""
_INTRODUCED = frozenset(
    {BlockKind.LIST, BlockKind.CODE, BlockKind.TABLE, BlockKind.FIGURE, BlockKind.MATH}
)
_SENTENCE_END = re.compile(r"[.!?:\u3002\uff01\uff1f][\"'*_)\]\u201d\u2019\s]*$")


def leads_in(before: Block, block: Block) -> bool:
    """Whether a paragraph introduces the next block: "as the following table shows:"."""
    if before.kind is not BlockKind.PARAGRAPH or block.kind is BlockKind.HEADING:
        return False
    if before.text.rstrip(_AFTER_COLON).endswith(_LEAD_IN_ENDS):
        return True
    if block.kind not in _INTRODUCED:
        return False
    end = before.text[-200:]
    # Only the last sentence can match; searching it alone saves most of the time.
    body = end.rstrip().removesuffix(".")
    start = max(body.rfind("."), body.rfind("?"), body.rfind("!")) + 1
    sentence = end[start:].casefold()
    return any(word in sentence for word in _POINTERS) and bool(_LEAD_IN_WORDS.search(end, start))


def continues(before: Block, block: Block) -> bool:
    """Whether a sentence continues across a formula or code: "we get", formula, "where x is"."""
    if block.kind is BlockKind.MATH:
        return before.kind is BlockKind.PARAGRAPH and not _SENTENCE_END.search(before.text[-40:])
    return (
        block.kind is BlockKind.PARAGRAPH
        and before.kind in (BlockKind.MATH, BlockKind.CODE)
        and block.text[:1].islower()
    )
