"""Analysis of a question: terms, weights, language and definition. Later steps use only this."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from app.domain.answering.answerability import Reading
from app.domain.answering.definitions import POINTS_AT, Name
from app.domain.languages import (
    COMMON_WORDS,
    language_of_question,
    language_of_words,
    without_words,
)
from app.domain.retrieval.definition_terms import QUESTION_FRAME_WORDS
from app.domain.retrieval.query import Vector
from app.domain.terms import Terms, words

EARLIER_TURN = 0.5
"""Factor on the weight of a term that only an earlier turn or the selected text has."""

_LONGEST_TERM = 4
"""Maximum number of terms of X in "what is X?"; a longer X is not a term."""
_ARTICLES = frozenset({"a", "an", "the"})
_ASKS_DEFINITION = re.compile(
    r"^\s*(?:what(?:\s+(?:is|are|was|were)|['\u2019]?s)(?:\s+meant\s+by"
    r"|\s+the\s+(?:function|role|purpose|meaning|definition|point|idea)s?\s+(?:of|behind))?"
    r"|(?:what|how)\s+do(?:es)?|define|explain|describe|tell\s+me\s+about"
    r"|who\s+(?:is|was|are|were)|qué\s+(?:es|son)|was\s+(?:ist|sind)|qu['\u2019]est-ce\s+que?"
    r"|o\s+que\s+(?:é|são))\s+(?P<what>.+?)(?:\s+do|\s+means?|\s+refers?\s+to|\s+stands?\s+for|\s+works?"
    r"|(?:\s+(?:used|good|meant|there))?\s+for)?"
    r"(?:,?\s+(?:to\s+me|please|briefly|exactly|in\s+(?:simple|plain)\s+(?:terms|words|english)))*$",
    re.IGNORECASE | re.DOTALL,
)
_QUESTION_PHRASES = """
    什么是 是什么意思 是什么 什么意思 什么 请问 怎么样 怎么用 怎么 怎样 如何 为什么 为何 是否 有哪些
    哪些 哪个 解释一下 介绍一下 告诉我
    とは何ですか とは何でしょうか とはなんですか とは何か とは何 とは って何ですか って何 は何ですか
    何ですか なんですか について教えてください について教えて を教えてください を教えて
    教えてください 教えて について説明してください を説明してください 説明してください について
    はどういう意味ですか どういう意味ですか はどうやって どうやって はどのように どのように
    はどうすれば どうすれば どうしたら はなぜ なぜ どうして
"""
_QUESTION_END = (
    r"(?:吗|呢|のですか|ですか|ますか|でしょうか|ください)?(?:[？！。?!]+|(?=[，,\s])|$)"
)
"""Elsewhere these are parts of words, such as 吗啡."""
_QUESTION_PHRASE = re.compile(
    "|".join([*sorted(_QUESTION_PHRASES.split(), key=len, reverse=True), _QUESTION_END])
)
"""Phrases of Chinese and Japanese questions. Both are indexed by pairs of characters, of which some
belong to such a phrase and others to the words beside it, so stop words cannot be left out."""


@dataclass(frozen=True, slots=True)
class QuestionFeatures:
    """The features of a question by which passages are scored."""

    terms: Terms
    language: str
    """Language of the book: an ISO 639-1 code."""
    weights: Mapping[int, float]
    """Term -> weight by its rarity in the book; the weights add up to 1."""
    definition: frozenset[int] = frozenset()
    """The terms of X in "what is X?", else empty."""
    definition_name: Name = ()
    """The words of X as written."""


@dataclass(frozen=True, slots=True)
class QuestionAnalysis:
    question: str
    features: QuestionFeatures
    words: frozenset[str] = frozenset()
    """The question's words as returned by `words`."""
    asked_in: str = ""
    """Detected language of the question; the book's unless another one has more of its words."""
    in_book_language: bool = True
    """Whether the book's language is detected from the question's words."""
    own_terms: frozenset[int] = frozenset()
    """The terms of the question itself, without earlier turns."""
    wordings: tuple[str, ...] = ()
    """Distinct texts for which answerability is scored: the question, the question with its earlier
    turns, and the question without function words of another language."""
    readings: tuple[Reading, ...] = ()
    """The wordings as terms and vectors."""
    vector: Vector = field(default_factory=lambda: array("f"))
    """Vector of the question with its earlier turns, without a selected text; see `Reading`."""
    compared: str = ""
    """The text of `vector`."""


def analyse(
    question: str,
    standalone: str,
    language: str,
    said: Sequence[str],
    own: frozenset[int],
    terms: Terms,
    upper_bounds: Mapping[int, float],
) -> QuestionAnalysis:
    """Analyse a question for a book in `language`.

    `said` are the question's words and `own` its terms. `standalone` is the question with its
    earlier turns; `upper_bounds` has the BM25 upper bound of each of its terms.
    """
    asked_in = language_of_question(said, language)
    bare = bare_question(question, asked_in, language)
    content = (own if bare == question else terms(bare)) or own
    weights = {
        term: bound if term in own else EARLIER_TURN * bound
        for term, bound in upper_bounds.items()
        if term in content or term not in own
    }
    total = sum(weights.values()) or 1.0
    features = QuestionFeatures(
        terms=terms,
        language=language,
        weights={term: weight / total for term, weight in weights.items()},
        definition=defined_terms(question, terms),
        definition_name=name_asked(question),
    )
    return QuestionAnalysis(
        question=question,
        features=features,
        words=frozenset(said),
        asked_in=asked_in,
        in_book_language=language_of_words(said, "") == language,
        own_terms=own,
        wordings=tuple(dict.fromkeys((question, standalone, bare))),
    )


def defined_terms(question: str, terms: Terms) -> frozenset[int]:
    """Return the terms of X in "what is X?"; empty for other questions, and if X is long."""
    what = terms(_what(question) or "")
    return what if len(what) <= _LONGEST_TERM else frozenset()


def _what(question: str) -> str | None:
    asked = _ASKS_DEFINITION.match(question.strip(" \t\n?.!"))
    return None if asked is None or POINTS_AT.fullmatch(asked["what"]) else asked["what"]


def name_asked(question: str) -> Name:
    """Return the words of X in "what is X?" as written; empty for other questions."""
    asked = tuple(words(_what(question) or ""))
    return asked[1:] if asked[:1] and asked[0] in _ARTICLES else asked


def single_letters(said: Iterable[str]) -> list[str]:
    """Return the words of one letter, such as the "p" of "p value"."""
    return [word for word in said if len(word) == 1 and word.isalpha()]


def without_question_phrases(question: str, language: str) -> str:
    """Return a Chinese or Japanese question without "what is" and the like.

    Unchanged in other languages, and if no words are left.
    """
    if language not in ("zh", "ja"):
        return question
    kept = _QUESTION_PHRASE.sub(" ", question)
    return kept if any(words(kept)) else question


def bare_question(question: str, asked_in: str, language: str) -> str:
    """Remove the common words of a question that is in another language than the book.

    Names and terms that both languages share remain.
    """
    if asked_in not in COMMON_WORDS or asked_in == "en" == language:
        return question
    common = COMMON_WORDS[asked_in].union(words(QUESTION_FRAME_WORDS.get(asked_in, "")))
    return without_words(question, common)
