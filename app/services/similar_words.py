"""Words of a book that are similar to words of a question: right spellings and cognates.

A misspelled word is replaced. Cognates resemble words of a question in another language:
"inmunidad adaptativa" finds "adaptive immunity". They are added to the search; the score of
answerability and the answer do not change. Both languages must use the Latin script.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import TypeAlias

from rapidfuzz import process
from rapidfuzz.distance import OSA, JaroWinkler

from app.domain.languages import LANGUAGES
from app.domain.question_phrases import phrases_of

SHORTEST = 5
"""Minimum number of letters; a shorter word is within one edit of too many others."""
SHORTEST_COGNATE = 4
"""The same for cognates."""
MOST = 16
"""Maximum number of words of a question, because each may be compared with every word of a book."""
LEAST_SIMILARITY = 0.83
"""1 - edits / length of the longer word: one letter in six is wrong, missing, added or swapped
with its neighbour."""
NAME_SIMILARITY = 0.9
"""The same for words with capitals, because different names are similar: useState and UsState."""
COGNATE_SIMILARITY = 0.86
"""Minimum Jaro-Winkler similarity, which gives the beginning of a word more weight. Questions of
xquad-es on xquad-en: hit@5 .82 with .82 and .86, .79 with .9, .58 without cognates."""

KnownWords: TypeAlias = Mapping[str, tuple[int, str]]
"""Word in lower case -> (frequency in the book, most frequent spelling)."""
FoldedWords: TypeAlias = Mapping[str, str]
"""Word in lower case without accents -> its most frequent spelling in the book."""

_WORD = re.compile(r"[^\W\d_]+")


def plain_words(text: str) -> list[str]:
    """Return the words of the text as written, with repeats."""
    return _WORD.findall(text)


def correctable(text: str) -> list[str]:
    """Return the distinct words that may be misspelled, in order.

    Names with an initial capital are left out, unlike "createAsyncThnk".
    """
    found = dict.fromkeys(word for word in plain_words(text) if len(word) >= SHORTEST)
    return [word for word in found if word[0].islower() or text.startswith(word)][:MOST]


def replaced(question: str, words: Mapping[str, str]) -> str:
    """Return the question with whole words replaced."""
    return _WORD.sub(lambda match: words.get(match[0], match[0]), question)


def merged(vocabularies: Iterable[KnownWords]) -> KnownWords:
    """Merge the words of several books; the most frequent spelling wins."""
    known: dict[str, tuple[int, str]] = {}
    for one in vocabularies:
        for word, written in one.items():
            known[word] = max(written, known.get(word, written))
    return known


def closest(word: str, known: KnownWords) -> str:
    """Return the most similar known word, of equally similar ones the most frequent; "" if none.

    The first sound must be equal, so that "unsorted" is not corrected to "sorted"; "ph" equals "f".
    """
    wanted = word.lower()
    sound = _first_sound(wanted)
    near = process.extract(
        wanted,
        [one for one in known if len(one) >= SHORTEST and _first_sound(one) == sound],
        scorer=OSA.normalized_similarity,
        score_cutoff=LEAST_SIMILARITY if word[1:].islower() else NAME_SIMILARITY,
        limit=None,
    )
    best = max(near, key=lambda one: (one[1], known[one[0]]), default=None)
    return known[best[0]][1] if best else ""


def _first_sound(word: str) -> str:
    return "f" if word.startswith("ph") else word[0]


def folded(words: KnownWords) -> FoldedWords:
    """Return words in Latin script; of those that differ only in accents the most frequent."""
    by_count = sorted(words.items(), key=lambda one: one[1][0])
    forms = {_fold(word): written for word, (_, written) in by_count}
    return {word: forms[word] for word in sorted(forms) if _may_be_cognate(word)}


def cognates(question: str, language: str, known: FoldedWords) -> tuple[str, ...]:
    """Return the most similar known word for each word of the question, without function words.

    Words of the question that are in the book are skipped, since the search has them already.
    """
    near = (
        process.extractOne(
            word, known.keys(), scorer=JaroWinkler.similarity, score_cutoff=COGNATE_SIMILARITY
        )
        for word in _content_words(question, language)
        if word not in known
    )
    found = (known[word[0]] for word in islice(near, MOST) if word)
    return tuple(dict.fromkeys(found))


def _content_words(question: str, language: str) -> list[str]:
    """Return the folded words that may have cognates, without function words."""
    spoken = LANGUAGES.get(language)
    said = [*spoken.words, *phrases_of(language).comparison.split()] if spoken else []
    common = set(map(_fold, said))
    asked = dict.fromkeys(_fold(word) for word in plain_words(question))
    return [one for one in asked if _may_be_cognate(one) and one not in common]


def _may_be_cognate(word: str) -> bool:
    return word.isascii() and len(word) >= SHORTEST_COGNATE


def _fold(word: str) -> str:
    letters = unicodedata.normalize("NFD", word.lower())
    return "".join(one for one in letters if not unicodedata.combining(one))
