"""Which neighbouring blocks belong together."""

from __future__ import annotations

import re

from app.domain.document import Block, BlockKind

_LEAD_IN_ENDS = (":", "\uff1a")
_AFTER_COLON = "\"'*_)" + "".join(filter(str.isspace, map(chr, range(0x3001))))
"""Characters that may follow the colon: quotes, mark-up and blanks."""
_LEAD_IN_WORDS = re.compile(
    r"\b(?:the following|below)\b[^.?!]{0,120}[.]?\s*$"
    r"|\b(?:table|figure|listing|example|list|code|snippet)\b[^.?!]{0,60}"
    r"\b(?:shows?|lists?|below|follows|summari[sz]es)\b[^.?!]{0,120}[.]?\s*$",
    re.IGNORECASE,
)
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
    return block.kind in _INTRODUCED and bool(_LEAD_IN_WORDS.search(before.text[-200:]))


def continues(before: Block, block: Block) -> bool:
    """Whether a sentence continues across a formula or code: "we get", formula, "where x is"."""
    if block.kind is BlockKind.MATH:
        return before.kind is BlockKind.PARAGRAPH and not _SENTENCE_END.search(before.text[-40:])
    return (
        block.kind is BlockKind.PARAGRAPH
        and before.kind in (BlockKind.MATH, BlockKind.CODE)
        and block.text[:1].islower()
    )
