"""Analysis of a question: terms, weights, language and definition. Later steps use only this."""

import re
from array import array
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field

from app.domain.answering.answerability import Reading
from app.domain.document import BlockKind
from app.domain.languages import in_any, known_language
from app.domain.retrieval.query import Vector
from app.domain.terms import Terms

EARLIER_TURN = 0.5
"""Factor on the weight of a term that only an earlier turn or the selected text has."""

_LONGEST_TERM = 4
"""Maximum number of words of X in "what is X?"; a longer X is not a term."""

_LIST_REQUEST = re.compile(rf"\b(?:{in_any('lists')})\b")
_CODE_REQUEST = re.compile(
    rf"\b(?:{in_any('code')})\b"
    rf"|{in_any('unspaced_code')}"
)


@dataclass(frozen=True, slots=True)
class QuestionAnalysis:
    terms: Terms
    language: str
    """Language of the book: an ISO 639-1 code."""
    weights: Mapping[int, float]
    """Term -> weight by its rarity in the book; the weights add up to 1."""
    definition: frozenset[int] = frozenset()
    """The terms of X in "what is X?", else empty."""
    asked_kinds: frozenset[BlockKind] = frozenset()
    """The kinds of block that the question wants: "which types" a list, "an example" code."""
    words: frozenset[str] = frozenset()
    """The question's words as returned by `words`."""
    asked_in: str = ""
    """Detected language of the question; the book's unless another one has more of its words."""
    in_book_language: bool = True
    """Whether the book's language is detected from the question's words."""
    own_terms: frozenset[int] = frozenset()
    """The terms of the question itself, without earlier turns."""
    rare: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """Names and rare words of an English question about an English book -> the terms of each."""
    readings: tuple[Reading, ...] = ()
    """Its wordings as terms and vectors: the question, the question with its earlier turns, without
    function words of another language, without sentences about the reader, and with similar words
    of the book in place of those that it lacks."""
    by_similar_words: bool = False
    """Whether similar words of the book replace words of another language."""
    vector: Vector = field(default_factory=lambda: array("f"))
    """Vector of the question with its earlier turns, without a selected text; see `Reading`."""
    read: str = ""
    """Text that the reader has already; it is not shown again unless there is no other."""


def term_weights(
    upper_bounds: Mapping[int, float], own: Set[int], content: Set[int]
) -> dict[int, float]:
    """Return the weights of the `content` terms of the question's `own` and of earlier turns."""
    weights = {
        term: bound if term in own else EARLIER_TURN * bound
        for term, bound in upper_bounds.items()
        if term in content or term not in own
    }
    total = sum(weights.values()) or 1.0
    return {term: weight / total for term, weight in weights.items()}


def name_asked(searched: Iterable[str], terms: Terms, language: str) -> str:
    """Return X in "what is X?"; "" if it has more words than a term has.

    Its words are all words of the searched text but stop words and those that frame a term; so they
    are no term in many questions ("why is X slow?"), which no text defines.
    """
    frame = terms(known_language(language).frame)
    name = [word for word in searched if terms(word) - frame]
    return " ".join(name) if len(name) <= _LONGEST_TERM else ""


def asked_kinds(said: Sequence[str]) -> frozenset[BlockKind]:
    """Return the kinds of block that a question of these words, as returned by `words`, wants.

    "Which types of X are there" wants a list or table, "an example of X" wants code. Empty for a
    question that any text may answer.
    """
    text = " ".join(said)
    lists = {BlockKind.LIST, BlockKind.TABLE} if _LIST_REQUEST.search(text) else set()
    return frozenset(lists | ({BlockKind.CODE} if _CODE_REQUEST.search(text) else set()))
