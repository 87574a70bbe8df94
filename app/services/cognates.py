"""Cognates: words of a book that resemble words of a question in another language.

"inmunidad adaptativa" finds "adaptive immunity". The words are added to the search; the score of
answerability and the answer do not change. Both languages must use the Latin script.
"""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeAlias

from rapidfuzz import process
from rapidfuzz.distance import JaroWinkler

from app.domain.indexed_book import BookManifest
from app.domain.languages import LANGUAGES
from app.domain.retrieval.definition_terms import COMPARISON_WORDS
from app.services.book_cache import BookCache
from app.services.vocabulary import BookVocabulary, KnownWords, plain_words

LEAST_SIMILARITY = 0.86
"""Minimum Jaro-Winkler similarity, which gives the beginning of a word more weight. Questions of
xquad-es on xquad-en: hit@5 .82 with .82 and .86, .79 with .9, .58 without cognates."""
SHORTEST = 4
"""Minimum number of letters."""
MOST = 16
"""Maximum number of words of a question that are compared."""
MOST_BOOKS = 16
"""With more books cognates are skipped, because the words of each book must be counted."""

FoldedWords: TypeAlias = Mapping[str, str]
"""Word in lower case without accents -> its most frequent spelling in the book."""


@dataclass(slots=True)
class FindCognates:
    vocabulary: BookVocabulary
    _folded: BookCache[FoldedWords] = field(
        default_factory=lambda: BookCache(MOST_BOOKS), init=False
    )

    async def of(
        self, question: str, language: str, books: Sequence[BookManifest]
    ) -> tuple[str, ...]:
        """Return the distinct cognates of a question in this language, as the books spell them.

        Raises StorageError.
        """
        if len(books) > MOST_BOOKS:
            return ()
        known: dict[str, str] = {}
        for book in books:
            known |= await self._words(book)
        return await asyncio.to_thread(cognates, question, language, known)

    async def _words(self, book: BookManifest) -> FoldedWords:
        async def make() -> FoldedWords:
            return folded(await self.vocabulary.words(book))

        return await self._folded.get(book, make)


def folded(words: KnownWords) -> FoldedWords:
    """Return words in Latin script; of those that differ only in accents the most frequent."""
    by_count = sorted(words.items(), key=lambda one: one[1][0])
    forms = {_fold(word): written for word, (_, written) in by_count}
    return {word: forms[word] for word in sorted(forms) if word.isascii() and len(word) >= SHORTEST}


def cognates(question: str, language: str, known: FoldedWords) -> tuple[str, ...]:
    """Return the most similar known word for each word of the question, without function words.

    Words of the question that are in the book are skipped, since the search has them already.
    """
    near = (
        process.extractOne(
            word, known.keys(), scorer=JaroWinkler.similarity, score_cutoff=LEAST_SIMILARITY
        )
        for word in _content_words(question, language)
        if word not in known
    )
    found = (known[word[0]] for word in islice(near, MOST) if word)
    return tuple(dict.fromkeys(found))


def _content_words(question: str, language: str) -> list[str]:
    """Return the folded words that can have cognates: in Latin script, no function words."""
    spoken = LANGUAGES.get(language)
    said = [*spoken.words, *COMPARISON_WORDS.get(language, "").split()] if spoken else []
    common = set(map(_fold, said))
    asked = dict.fromkeys(_fold(word) for word in plain_words(question))
    return [one for one in asked if one.isascii() and len(one) >= SHORTEST and one not in common]


def _fold(word: str) -> str:
    letters = unicodedata.normalize("NFD", word.lower())
    return "".join(one for one in letters if not unicodedata.combining(one))
