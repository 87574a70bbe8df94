"""Texts of refusals, notices and clarifying questions, in the languages of `languages.toml`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain

from app.domain.languages import LANGUAGES, Notices, known_language


def notices(language: str) -> Notices:
    return known_language(language).notices


def refusal_text(language: str, sections: int) -> str:
    """Return the refusal, whose second sentence is about the `sections` listed below it."""
    refusal = notices(language).refusal
    return refusal if sections else re.split(r"(?<=[.\u3002\u06d4])", refusal, maxsplit=1)[0]


def do_not_mention(words: Sequence[str]) -> str:
    """Return what the passages below an uncertain answer's notice lack, in English; "" if nothing.

    Words are only looked for in English: see `AnalyseQuestion`.
    """
    quoted = ", ".join(f"\u201c{word}\u201d" for word in words)
    return f"They do not mention {quoted}." if words else ""


def other_language(asked_in: str, language: str) -> str:
    """Return a hint that the book is in another language than the question; "" if it is not."""
    if asked_in == language:
        return ""
    name = known_language(language).name or language
    return notices(asked_in).other_language.format(name)


def is_clarification(text: str) -> bool:
    """Whether the text is a clarifying question, in any language."""
    asked = (
        (one.notices.which_book, one.notices.which_chapter, one.notices.no_exercises)
        for one in LANGUAGES.values()
    )
    return text.startswith(tuple(one.partition("{}")[0] for one in chain.from_iterable(asked)))
