"""Reads a question in its conversation: what a reply completes, and which turns to skip."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest

from app.domain.answering.intents import SMALL_TALK, intent_of
from app.domain.answering.notices import is_clarification
from app.domain.languages import in_any
from app.domain.retrieval.query import Turn
from app.domain.terms import words

_YES = frozenset(in_any(lambda one: one.yes).split("|"))
_DID_YOU_MEAN = re.compile(
    rf"(?:{in_any(lambda one: one.did_you_mean)})[\s:]+(?P<asked>[^\n]+?)"
    r"\s*\?[\s\"'*_\u201d\u00bb]*$",
    re.IGNORECASE,
)
_MARKS = " \"'*_\u201c\u201d\u201e\u00ab\u00bb?"


def resumed(question: str, history: Sequence[Turn]) -> str:
    """Return the question that a reply to the assistant's question completes; else `question`.

    "Yes" after "Did you mean the inverted index?" asks about that. "Chapter 2" after "summarise the
    chapter" and "Which chapter do you mean?" is a request for the summary of chapter 2.
    """
    replied = history[-1] if history else None
    if replied is None or replied.role == "user":
        return question
    suggested = _DID_YOU_MEAN.search(replied.content.strip())
    if suggested and " ".join(words(question)) in _YES:
        return f"{suggested['asked'].strip(_MARKS)}?"
    if is_clarification(replied.content):
        before = next((one.content for one in reversed(history) if one.role == "user"), "")
        said = words(question)
        kept = [word for word in words(before) if word not in said]
        # With the numbers of the request that was unclear, and without them.
        for asked in (kept, [word for word in kept if not word.isdigit()]):
            intent = intent_of([*asked, *said])
            if intent and intent.kind not in SMALL_TALK:
                return " ".join([*asked, *said])
    return question


def about_the_book(history: Sequence[Turn]) -> tuple[Turn, ...]:
    """Return the turns without small talk, without clarifying questions and what they reply to.

    A follow-up then refers to the last question about the book.
    """
    kept: list[Turn] = []
    skipped = False
    for turn, reply in zip_longest(history, history[1:]):
        if turn.role == "user":
            clarified = reply is not None and is_clarification(reply.content)
            intent = intent_of(words(turn.content))
            skipped = clarified or bool(intent and intent.kind in SMALL_TALK)
        if not skipped:
            kept.append(turn)
    return tuple(kept)
