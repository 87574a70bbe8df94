"""Blocks that belong together: a lead-in and its block, a sentence that spans a formula."""

from __future__ import annotations

import re

from app.domain.document import Block, BlockKind

_LEAD_IN_ENDS = (":", "\uff1a")
_CLOSERS = "\"'*_)" + "".join(filter(str.isspace, map(chr, range(0x3001))))
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
    if before.text.rstrip(_CLOSERS).endswith(_LEAD_IN_ENDS):
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
