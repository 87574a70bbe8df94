"""The words of books, by which misspelled and foreign words of a question are understood."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from app.domain.chunking.chunk import Chunk
from app.domain.indexed_book import BookList, BookManifest
from app.domain.languages import clearly_another_language
from app.domain.retrieval.query import SearchFilter
from app.services.book_cache import BookCache
from app.services.lexical import LexicalEncoder
from app.services.ports import VectorIndex
from app.services.similar_words import (
    FoldedWords,
    KnownWords,
    closest,
    cognates,
    correctable,
    folded,
    merged,
    plain_words,
    replaced,
)
from app.services.term_upper_bounds import TermUpperBounds

MOST_BOOKS = 16
"""Books whose words are cached, about 3 MB each. In more books no similar words are looked for."""


class BookWords:
    """The words of a book."""

    def __init__(self, known: KnownWords) -> None:
        self.known = known

    @cached_property
    def folded(self) -> FoldedWords:
        return folded(self.known)


@dataclass(slots=True)
class BookVocabulary:
    """A book's words are counted at the first question that needs them."""

    index: VectorIndex
    lexical: LexicalEncoder
    bounds: TermUpperBounds
    count_tokens: Callable[[str], int]
    _known: BookCache[BookWords] = field(default_factory=lambda: BookCache(MOST_BOOKS), init=False)

    async def corrected(self, question: str, books: BookList) -> str:
        """Return the question with misspelled words replaced by words of these books.

        A question in another language than the books' is unchanged, if it is long enough to detect
        the language. Raises StorageError.
        """
        language = books.language
        unknown = await self._unknown(question, language, books)
        if not unknown or clearly_another_language(question, language):
            return question
        known = merged([one.known for one in await self._words(books)])
        right = {word: closest(word, known) for word in unknown if word.lower() not in known}
        return replaced(question, {word: other for word, other in right.items() if other})

    async def cognates(self, question: str, language: str, books: BookList) -> tuple[str, ...]:
        """Return the cognates of a question in this language, as the books spell them.

        Raises StorageError.
        """
        words: dict[str, str] = {}
        for one in await self._words(books):
            words |= one.folded
        return await asyncio.to_thread(cognates, question, language, words)

    async def _unknown(self, question: str, language: str, books: BookList) -> list[str]:
        """Return the correctable words whose term is in none of the books, but common ones."""
        rare = [word for word in correctable(question) if not self.is_common(word.lower())]
        terms = {word: self.lexical.terms(word, language) for word in rare}
        every = sorted(frozenset().union(*terms.values()))
        missing = await self.bounds.missing(every, books) if every else set()
        return [word for word, own in terms.items() if own & missing]

    def is_common(self, word: str) -> bool:
        """Whether a word in lower case, or its singular, is one BPE token, so spelled correctly."""
        forms = (word, word.removesuffix("s"), word.capitalize())
        return any(self.count_tokens(f" {form}") <= 1 for form in forms)

    async def _words(self, books: BookList) -> list[BookWords]:
        """Return the words of each book, cached; none of more than `MOST_BOOKS` books."""
        few = books.named() if len(books) <= MOST_BOOKS else ()
        return [await self._of_book(manifest) for manifest in few]

    async def _of_book(self, manifest: BookManifest) -> BookWords:
        async def make() -> BookWords:
            chunks = await self.index.matching(SearchFilter(books=(manifest.book,)))
            return await asyncio.to_thread(_words_of, chunks)

        return await self._known.get(manifest, make)


def _words_of(chunks: Sequence[Chunk]) -> BookWords:
    counts: Counter[str] = Counter()
    for one in chunks:
        counts.update(plain_words(" ".join((*one.heading_path, one.text_content))))
    return BookWords(merged({word.lower(): (n, word)} for word, n in sorted(counts.items())))
