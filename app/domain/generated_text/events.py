"""What a model sends while it writes an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from app.domain.answer import Usage


@dataclass(frozen=True, slots=True)
class GeneratedText:
    text: str
    numbered: tuple[str, ...] = ()
    """Ids of the paragraphs that markers [1], [2], ... in the text cite, so that uncited sentences
    can be attributed during the stream. Without them, citations may come until the end."""


@dataclass(frozen=True, slots=True)
class GeneratedCitation:
    """These words of the answer, at or near its offset `start`, are supported by the paragraphs.

    They may follow later.
    """

    start: int
    words: str
    paragraph_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TextDiscarded:
    """The text so far was not the answer but the model's reasoning; offsets start again."""


@dataclass(frozen=True, slots=True)
class GeneratedEnd:
    usage: Usage
    finish_reason: str
    truncated: bool = False
    """Whether the model reached its maximum of tokens."""


GeneratorEvent: TypeAlias = GeneratedText | GeneratedCitation | TextDiscarded | GeneratedEnd
