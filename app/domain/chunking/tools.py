"""Functions that chunking strategies need from libraries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter

from app.domain.chunking.config import RecursiveConfig, StrategyName
from app.domain.document import Block, Span
from app.domain.errors import ConfigError

_LONGEST_EDGE = 24


@dataclass(slots=True)
class JoinCounter:
    """Counts the tokens that a gap between two texts adds to the sum of theirs.

    This holds for byte-pair encodings whose pre-tokenizer always splits after a run of letters or
    digits and before the first character of a line, as in cl100k_base and o200k_base. A test
    compares with the real encoding.
    """

    count_tokens: Callable[[str], int]
    known: dict[tuple[str, str, str], int] = field(default_factory=dict)

    def added(self, left: str, gap: str, right: str) -> int | None:
        """Return tokens(left + gap + right) - tokens(left) - tokens(right); None if unknown.

        It is known if the gap holds a line break and no text has a blank next to it.
        """
        if "\n" not in gap or not left or not right or left[-1].isspace() or right[0].isspace():
            return None
        tail = _after_last_word(left)
        head = "" if gap.endswith("\n") else _to_first_word_end(right)
        if tail is None or head is None:
            return None
        key = (tail, gap, head)
        if key not in self.known:
            alone = self.count_tokens(tail) + self.count_tokens(head)
            self.known[key] = self.count_tokens(tail + gap + head) - alone
        return self.known[key]


def _after_last_word(text: str) -> str | None:
    """Return the text after the last letter or digit; None if it is long."""
    at = len(text)
    while at and not text[at - 1].isalnum():
        at -= 1
        if len(text) - at > _LONGEST_EDGE:
            return None
    return text[at:]


def _to_first_word_end(text: str) -> str | None:
    """Return the text up to the end of the first run of letters or digits; None if it is long."""
    for start, character in enumerate(text[:_LONGEST_EDGE]):
        if character.isalnum():
            letters = character.isalpha()
            end = start
            while end < len(text) and text[end].isalnum() and text[end].isalpha() == letters:
                end += 1
            return text[:end] if end <= 2 * _LONGEST_EDGE else None
    return None


@dataclass(frozen=True)
class ChunkingTools:
    count_tokens: Callable[[str], int]
    split_sentences: Callable[[str, str], list[Span]]
    """(text, ISO 639-1 code) -> sentence spans without blanks at the ends."""
    link: Callable[[Block], str] = attrgetter("url")
    """Returns the deep link of a block."""
    split_recursively: Callable[[str, RecursiveConfig, str], list[Span]] | None = None
    """(text, sizes, programming language or "") -> ascending spans. For `recursive` and `auto`."""
    embed: Callable[[Sequence[str]], Sequence[Sequence[float]]] | None = None
    """Returns one vector for each text. For `semantic`."""
    embeds_tokens: bool = False
    """Whether the embedder has a vector for each token. For `late`."""

    @cached_property
    def joins(self) -> JoinCounter:
        return JoinCounter(self.count_tokens)


def missing_tool(strategy: StrategyName, what: str) -> ConfigError:
    return ConfigError(f"the chunking strategy {strategy.value!r} needs {what}")
