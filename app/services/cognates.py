"""Cognates: words of a book that resemble words of a question in another language.

"inmunidad adaptativa" finds "adaptive immunity". The words are searched for besides the question;
what is shown and how the question is judged does not change. Both languages need the Latin script.
"""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from cachetools import LRUCache
from rapidfuzz import process
from rapidfuzz.distance import JaroWinkler

from app.domain.languages import LANGUAGES, guess_language
from app.services.ports import BookManifest
from app.services.vocabulary import BookVocabulary, KnownWords, plain_words

LEAST_SIMILARITY = 0.86
"""Jaro-Winkler, which weighs the beginning of a word more. Spanish questions of xquad-es asked of
xquad-en: hit@5 .82 with .82 and .86, .79 with .9, .58 without cognates."""
SHORTEST = 4
"""Letters."""
MOST = 16
"""Words of a question that are compared with the words of the books."""
MOST_BOOKS = 16
"""Beyond that no cognates are looked for: the words of each book would have to be counted."""

FoldedWords: TypeAlias = Mapping[str, str]
"""A word in lower case without accents to how the book most often writes it."""


@dataclass(slots=True)
class FindCognates:
    vocabulary: BookVocabulary
    _folded: LRUCache[tuple[str, str, int], FoldedWords] = field(
        default_factory=lambda: LRUCache(MOST_BOOKS), init=False, compare=False, repr=False
    )

    async def of(self, question: str, books: Sequence[BookManifest]) -> tuple[str, ...]:
        """The cognates, as the books write them, each once; StorageError if the index fails.

        Empty for a question in the language of the books, which is that of the first.
        """
        language = guess_language(question, books[0].language)
        if language == books[0].language or len(books) > MOST_BOOKS:
            return ()
        known: dict[str, str] = {}
        for book in books:
            known |= await self._words(book)
        return await asyncio.to_thread(cognates, question, language, known)

    async def _words(self, book: BookManifest) -> FoldedWords:
        key = (book.book, book.book_version, book.generation)
        found = self._folded.get(key)
        if found is None:
            found = folded(await self.vocabulary.words(book))
            self._folded[key] = found
        return found


def folded(words: KnownWords) -> FoldedWords:
    """The words of the Latin script; of those that differ in accents alone the most frequent."""
    by_count = sorted(words.items(), key=lambda one: one[1][0])
    forms = {_fold(word): written for word, (_, written) in by_count}
    return {word: forms[word] for word in sorted(forms) if word.isascii() and len(word) >= SHORTEST}


def cognates(question: str, language: str, known: FoldedWords) -> tuple[str, ...]:
    """The most similar known word of each of the question's, but for its function words.

    Words that are known themselves have none: the search has them already.
    """
    spoken = LANGUAGES.get(language)
    common = {_fold(word) for word in spoken.common | spoken.stop_words} if spoken else set()
    asked = dict.fromkeys(_fold(word) for word in plain_words(question))
    wanted = [
        word
        for word in asked
        if len(word) >= SHORTEST and word.isascii() and word not in common and word not in known
    ]
    near = (
        process.extractOne(
            word, known.keys(), scorer=JaroWinkler.similarity, score_cutoff=LEAST_SIMILARITY
        )
        for word in wanted[:MOST]
    )
    return tuple(dict.fromkeys(known[found[0]] for found in near if found))


def _fold(word: str) -> str:
    letters = unicodedata.normalize("NFD", word.lower())
    return "".join(one for one in letters if not unicodedata.combining(one))
