"""Where a text may be cut, and which neighbouring blocks belong together."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from app.domain.chunking.inline_markup import sentence_spans
from app.domain.document import Block, BlockKind, Span
from app.domain.fast_dataclass import fast_dataclass

# Costs of a cut in the units of `packer`: 1 equals about 30 tokens above the target size.
CUT_PART = 1.0
CUT_SENTENCE = 1.5
CUT_BLANK_LINE = 1.0
CUT_TOP_LEVEL = 2.0
CUT_LINE = 6.0
CUT_WORD = 20.0
# Cuts made only if a chunk would exceed its maximum otherwise.
CUT_EMPTY_SECTION = 100.0
GLUE = 1000.0
HEADING_GLUE = 3000.0

SHORTEST = 24
"""Characters; a shorter sentence or line stays with the next one."""

_CLAUSE = re.compile(r"[,;:)\u2014](?=\s)|[\u3001\uff0c\uff1b\uff1a]")
_CLOSERS = frozenset(")]}")
_CONTINUATIONS = ("else", "elif", "except", "finally", "catch", "end", "```", "~~~")


@fast_dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of text between two cut points; `cut` is the cost of a cut before it."""

    start: int
    end: int
    cut: float


def prose_segments(
    text: str,
    language: str,
    limit: int,
    count_tokens: Callable[[str], int],
    split_sentences: Callable[[str, str], list[Span]],
    shortest: int = SHORTEST,
) -> Iterator[Segment]:
    """Yield sentences; split those above `limit` tokens at clauses, words or code points."""
    spans = sentence_spans(text, language, split_sentences)
    for segment in _joined_short(
        (Segment(start, end, CUT_SENTENCE) for start, end in spans), shortest
    ):
        yield from _within_limit(text, segment, limit, count_tokens)


def code_segments(
    text: str, limit: int, count_tokens: Callable[[str], int], shortest: int = SHORTEST
) -> Iterator[Segment]:
    """Yield lines; split those above `limit` tokens."""
    for segment in _joined_short(_lines(text), shortest):
        yield from _within_limit(text, segment, limit, count_tokens)


def _lines(text: str) -> Iterator[Segment]:
    at = 0
    after_blank = False
    for line in text.splitlines(keepends=True):
        start, end = at, at + len(line.rstrip())
        at += len(line)
        if end > start:
            yield Segment(start, end, _line_cut(line, after_blank))
        after_blank = end == start


def _joined_short(segments: Iterable[Segment], shortest: int) -> Iterator[Segment]:
    """Join short segments to the next, so that ten thousand "}" lines stay cheap."""
    held: Segment | None = None
    for segment in segments:
        held = segment if held is None else Segment(held.start, segment.end, held.cut)
        if held.end - held.start >= shortest:
            yield held
            held = None
    if held is not None:
        yield held


def _within_limit(
    text: str, segment: Segment, limit: int, count_tokens: Callable[[str], int]
) -> Iterator[Segment]:
    if (
        segment.end - segment.start <= limit
        or count_tokens(text[segment.start : segment.end]) <= limit
    ):
        yield segment
    else:
        yield from _cut_anywhere(text, segment.start, segment.end, limit, count_tokens, segment.cut)


def _line_cut(line: str, after_blank: bool) -> float:
    first = line[0]
    top_level = not (first.isspace() or first in _CLOSERS or line.startswith(_CONTINUATIONS))
    if after_blank:
        return CUT_BLANK_LINE if top_level else CUT_TOP_LEVEL
    return CUT_TOP_LEVEL * 2 if top_level else CUT_LINE


def _cut_anywhere(
    text: str,
    start: int,
    end: int,
    limit: int,
    count_tokens: Callable[[str], int],
    cut: float,
) -> Iterator[Segment]:
    """Split text without cut points, by clause, word or code point, into at most `limit` tokens."""
    while start < end:
        stop = _longest_fit(text, start, end, limit, count_tokens)
        if stop < end:
            stop = _better_end(text, start, stop)
        tail = start + len(text[start:stop].rstrip())
        if tail > start:
            yield Segment(start, tail, cut)
        cut = CUT_WORD
        start = stop
        while start < end and text[start].isspace():
            start += 1


def _longest_fit(
    text: str, start: int, end: int, limit: int, count_tokens: Callable[[str], int]
) -> int:
    """Return the approximate end of the longest slice from `start` of at most `limit` tokens."""
    # In some scripts one code point is several tokens.
    size = min(end - start, limit * 4)
    while size > 1 and count_tokens(text[start : start + size]) > limit:
        size = size * 3 // 4
    return start + size


def _better_end(text: str, start: int, stop: int) -> int:
    """Return the last clause end in the second half, else the last blank, else `stop`."""
    half = start + (stop - start) // 2
    clauses = [match.end() for match in _CLAUSE.finditer(text, half, stop)]
    if clauses:
        return clauses[-1]
    for at in range(stop, half, -1):
        if text[at - 1].isspace():
            return at
    return stop


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
