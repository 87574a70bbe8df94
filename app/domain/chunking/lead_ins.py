"""Which blocks belong together: a lead-in with what it introduces, a sentence over a formula."""

from __future__ import annotations

import re

from app.domain.document import Block, BlockKind

_LEAD_IN_ENDS = (":", "\uff1a")
_CLOSERS = "\"'*_)" + "".join(filter(str.isspace, map(chr, range(0x3001))))
"""Quotes, mark-up and blanks, which may follow the colon."""
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
    if before.text.rstrip(_CLOSERS).endswith(_LEAD_IN_ENDS):
        return True
    if block.kind not in _INTRODUCED:
        return False
    end = before.text[-200:]
    # Only the last sentence can match, and most of the time goes into the search.
    body = end.rstrip().removesuffix(".")
    start = max(body.rfind("."), body.rfind("?"), body.rfind("!")) + 1
    sentence = end[start:].casefold()
    return any(word in sentence for word in _POINTERS) and bool(_LEAD_IN_WORDS.search(end, start))


def continues(before: Block, block: Block) -> bool:
    """Whether a sentence goes on over a display: "we get", formula, "where x is ..."."""
    if block.kind is BlockKind.MATH:
        return before.kind is BlockKind.PARAGRAPH and not _SENTENCE_END.search(before.text[-40:])
    return (
        block.kind is BlockKind.PARAGRAPH
        and before.kind in (BlockKind.MATH, BlockKind.CODE)
        and block.text[:1].islower()
    )
