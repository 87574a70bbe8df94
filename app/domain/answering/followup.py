"""A follow-up question made searchable without a language model."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from app.domain.retrieval.query import Turn

_SHORT_WORDS = 6
_LEANS_BACK = re.compile(
    r"\b(?:it|its|they|them|their|that|this|those|these|he|she|his|her|him|there|ones?|same|such"
    r"|others?|else|eso|esto|ello|ellos|ellas|dies(?:e[rsmn]?)?|dazu|davon|cela|ceci|isso|isto)\b"
    r"|^\s*(?:and|but|so|or|what about|how about|really|y|pero|und|aber|et|mais|e|mas)\b",
    re.IGNORECASE,
)


def standalone_question(question: str, history: Sequence[Turn]) -> str:
    """The question, with the reader's question before it when it leans on the conversation.

    It does when it is short or speaks of "it" and the like. On mtrag-un-dev's 175 answerable
    follow-ups a chunk of the gold passage then comes first in 86 % of the searches; in 77 % with
    the question alone, in 85 % when the one before is always added.
    """
    before = [turn.content.strip() for turn in history if turn.role == "user"]
    if not before or not before[-1]:
        return question
    leans = len(question.split()) < _SHORT_WORDS or _LEANS_BACK.search(question)
    return f"{before[-1]} {question}" if leans else question


def recent(
    history: Sequence[Turn], token_budget: int, count_tokens: Callable[[str], int]
) -> tuple[Turn, ...]:
    """The last turns, whole, that fit into the budget together; of the very last its beginning."""
    kept: list[Turn] = []
    left = token_budget
    for turn in reversed(history):
        tokens = count_tokens(turn.content)
        if tokens > left:
            if not kept and left > 0:
                beginning = turn.content[: len(turn.content) * left // tokens]
                kept.append(replace(turn, content=beginning))
            break
        kept.append(turn)
        left -= tokens
    return tuple(reversed(kept))
