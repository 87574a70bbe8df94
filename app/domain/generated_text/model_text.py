"""What a model sends while it writes an answer; its text is cleaned before anything reads it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from app.domain.answer import Usage
from app.domain.characters import well_formed
from app.domain.prompts import NO_ANSWER


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


MAX_CHARACTERS = 32_000
"""Limit on the text of one answer, whatever `max_tokens` the server was asked for."""

_CLOSING_TAG = re.compile(r"</(?:think|thinking|thought|reasoning)\s?>", re.I)
_TAG = re.compile(r"(?<!`)<(/?)(?:think|thinking|thought|reasoning)\s?>", re.I)
_BEGINNING = re.compile(r"(?:`|`?</?[a-z]{0,9}\s?)\Z", re.I)
_LONGEST_BEGINNING = 13
_MARKUP = " \t\n\"'`*"
"""What some models write around a refusal."""


class ModelText:
    """Feed the deltas, then close; takes time linear in their length.

    Left out are blanks at the beginning and reasoning: what is between `<think>` and `</think>`, or
    from `<think>` to the end. A tag after a back quote is text. Text is held back while it may
    be a refusal, `NO_ANSWER`.
    """

    def __init__(self, limit: int = MAX_CHARACTERS, numbered: tuple[str, ...] = ()) -> None:
        """`limit` is in characters, without the reasoning; `numbered` as in `GeneratedText`."""
        self.refused = False
        self._numbered = numbered
        self._limit = self._left = limit
        self._text = ""  # not cleaned yet: the beginning of a tag
        self._reasoning = False
        self._held: str | None = ""  # what may become a refusal; None once there is text

    @property
    def full(self) -> bool:
        """Whether the limit is exceeded; further text is dropped."""
        return self._left < 0

    def feed(self, delta: str) -> Iterator[GeneratedText | TextDiscarded]:
        """Yield the text that can be read now; TextDiscarded if all before was reasoning.

        Chat templates of some models write `<think>` into the prompt, so `</think>` comes alone.
        """
        scanned = max(0, len(self._text) - _LONGEST_BEGINNING)
        self._text += well_formed(delta)
        while tag := (_CLOSING_TAG if self._reasoning else _TAG).search(self._text, scanned):
            before, self._text, scanned = self._text[: tag.start()], self._text[tag.end() :], 0
            if self._reasoning:
                self._reasoning = False
            elif tag[1]:
                self.refused = False
                self._left, self._held = self._limit, ""
                yield TextDiscarded()
            else:
                yield from self._released(before)
                self._reasoning = True
        if self._reasoning:
            self._text = self._text[-_LONGEST_BEGINNING:]
        else:
            begins = _BEGINNING.search(self._text, max(0, len(self._text) - _LONGEST_BEGINNING))
            end = begins.start() if begins else len(self._text)
            before, self._text = self._text[:end], self._text[end:]
            yield from self._released(before)

    def close(self) -> Iterator[GeneratedText | TextDiscarded]:
        """Yield the text that was held back."""
        if not self._reasoning:
            yield from self._released(self._text)
        if self._held and not self.refused:
            yield GeneratedText(self._held, self._numbered)

    def _released(self, text: str) -> Iterator[GeneratedText]:
        """Yield the text within the limit, unless it is or may become a refusal."""
        if self._held is not None:
            text = (self._held + text).lstrip()
            start = text.lstrip(_MARKUP)
            self.refused = self.refused or start.startswith(NO_ANSWER)
            if self.refused or NO_ANSWER.startswith(start):
                self._held = text[: len(NO_ANSWER) + self._limit]
                return
            self._held = None
        shown, self._left = text[: max(self._left, 0)], self._left - len(text)
        if shown:
            yield GeneratedText(shown, self._numbered)
