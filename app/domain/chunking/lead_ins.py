"""Which blocks belong together: a lead-in with what it introduces, a sentence over a formula."""

from __future__ import annotations

import re

from app.domain.document import Block, BlockKind

_LEAD_IN_END = re.compile(r"[:\uff1a][\"'*_)\s]*$")
_LEAD_IN_WORDS = re.compile(
    r"\b(?:the following|below)\b[^.?!]{0,120}[.]?\s*$"
    r"|\b(?:table|figure|listing|example|list|code|snippet)\b[^.?!]{0,60}"
    r"\b(?:shows?|lists?|below|follows|summari[sz]es)\b[^.?!]{0,120}[.]?\s*$",
    re.IGNORECASE,
)
_POINTERS = ("follow", "below", "show", "list", "summari")
"""One of these is in all that the expression finds."""
_INTRODUCED = frozenset(
    {BlockKind.LIST, BlockKind.CODE, BlockKind.TABLE, BlockKind.FIGURE, BlockKind.MATH}
)
_SENTENCE_END = re.compile(r"[.!?:\u3002\uff01\uff1f][\"'*_)\]\u201d\u2019\s]*$")


def leads_in(before: Block, block: Block) -> bool:
    """Whether a paragraph introduces the block after it: "as the following table shows:"."""
    if before.kind is not BlockKind.PARAGRAPH or block.kind is BlockKind.HEADING:
        return False
    end = before.text[-200:]
    if (":" in end or "\uff1a" in end) and _LEAD_IN_END.search(end):
        return True
    if block.kind not in _INTRODUCED:
        return False
    lowered = end.casefold()
    if not any(word in lowered for word in _POINTERS):
        return False
    # Only the last sentence can match, and most of the time goes into the search.
    body = end.rstrip().removesuffix(".")
    start = max(map(body.rfind, ".?!")) + 1
    return bool(_LEAD_IN_WORDS.search(end, start))


def continues(before: Block, block: Block) -> bool:
    """Whether a sentence goes on over a display: "we get", formula, "where x is ..."."""
    if block.kind is BlockKind.MATH:
        return before.kind is BlockKind.PARAGRAPH and not _SENTENCE_END.search(before.text[-40:])
    return (
        block.kind is BlockKind.PARAGRAPH
        and before.kind in (BlockKind.MATH, BlockKind.CODE)
        and block.text[:1].islower()
    )
