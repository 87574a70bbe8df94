"""Which neighbouring blocks belong together."""

from __future__ import annotations

import re

from app.domain.document import Block, BlockKind

_LEAD_IN_ENDS = (":", "\uff1a")
_AFTER_COLON = "\"'*_)" + "".join(filter(str.isspace, map(chr, range(0x3001))))
"""Characters that may follow the colon: quotes, mark-up and blanks."""
_SENTENCE_END = re.compile(r"[.!?:\u3002\uff01\uff1f][\"'*_)\]\u201d\u2019\s]*$")


def leads_in(before: Block, block: Block) -> bool:
    """Whether a paragraph introduces the next block: "as the following table shows:"."""
    ends = before.text.rstrip(_AFTER_COLON).endswith(_LEAD_IN_ENDS)
    return ends and before.kind is BlockKind.PARAGRAPH and block.kind is not BlockKind.HEADING


def continues(before: Block, block: Block) -> bool:
    """Whether a sentence continues across a formula or code: "we get", formula, "where x is"."""
    if block.kind is BlockKind.MATH:
        return before.kind is BlockKind.PARAGRAPH and not _SENTENCE_END.search(before.text[-40:])
    return (
        block.kind is BlockKind.PARAGRAPH
        and before.kind in (BlockKind.MATH, BlockKind.CODE)
        and block.text[:1].islower()
    )
