"""Spelling correction: misspelled words of a question are replaced by words of the book."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from rapidfuzz import process
from rapidfuzz.distance import OSA

from app.domain.chunking.chunk import Chunk
from app.domain.indexed_book import BookList, BookManifest
from app.domain.languages import clearly_another_language
from app.domain.retrieval.query import SearchFilter
from app.services.book_cache import BookCache
from app.services.lexical import LexicalEncoder
from app.services.ports import VectorIndex
from app.services.term_upper_bounds import TermUpperBounds

SHORTEST = 5
"""Minimum number of letters; a shorter word is within one edit of too many others."""
MOST = 16
"""Maximum number of words checked, because each may be compared with every word of a book."""

_WORD = re.compile(r"[^\W\d_]+")


def correctable(text: str) -> list[str]:
    """Return the distinct words that may be misspelled, in order.

    Names with an initial capital are left out, unlike "createAsyncThnk".
    """
    found = dict.fromkeys(word for word in _WORD.findall(text) if len(word) >= SHORTEST)
    return [word for word in found if word[0].islower() or text.startswith(word)][:MOST]


def plain_words(text: str) -> list[str]:
    """Return the words of the text as written, with repeats."""
    return _WORD.findall(text)


def replaced(question: str, words: Mapping[str, str]) -> str:
    """Return the question with whole words replaced."""
    return _WORD.sub(lambda match: words.get(match[0], match[0]), question)


LEAST_SIMILARITY = 0.83
"""1 - edits / length of the longer word: one letter in six is wrong, missing, added or swapped
with its neighbour."""
NAME_SIMILARITY = 0.9
"""The same for words with capitals, because different names are similar: useState and UsState."""
ONE_TOKEN = 1
"""Words that are one BPE token, or whose singular is, are treated as correctly spelled."""

KnownWords: TypeAlias = Mapping[str, tuple[int, str]]
"""Word in lower case -> (frequency in the book, most frequent spelling)."""

_CACHED_BOOKS = 16
"""Books whose words are cached, about 3 MB each."""


@dataclass(slots=True)
class BookVocabulary:
    """Corrects questions. A book's words are counted at the first question with an unknown word."""

    index: VectorIndex
    lexical: LexicalEncoder
    bounds: TermUpperBounds
    count_tokens: Callable[[str], int]
    _known: BookCache[KnownWords] = field(
        default_factory=lambda: BookCache(_CACHED_BOOKS), init=False
    )

    async def corrected(self, question: str, books: BookList) -> str:
        """Return the question with misspelled words replaced by words of these books.

        A question in another language than the books' is unchanged, if it is long enough to detect
        the language. Raises StorageError.
        """
        language = books.language
        unknown = await self._unknown(question, language, books)
        if not unknown or clearly_another_language(question, language):
            return question
        known = _merged([await self.words(manifest) for manifest in books.named()])
        right = {word: closest(word, known) for word in unknown if word.lower() not in known}
        return replaced(question, {word: other for word, other in right.items() if other})

    async def _unknown(self, question: str, language: str, books: BookList) -> list[str]:
        """Return the correctable words whose term is in none of the books.

        Common words are left out, see `ONE_TOKEN`.
        """
        rare = [word for word in correctable(question) if not self.is_common(word.lower())]
        terms = {word: self.lexical.terms(word, language) for word in rare}
        every = sorted(frozenset().union(*terms.values()))
        missing = await self.bounds.missing(every, books) if every else set()
        return [word for word, own in terms.items() if own & missing]

    def is_common(self, word: str) -> bool:
        """Whether a word in lower case is one BPE token, see `ONE_TOKEN`."""
        forms = (word, word.removesuffix("s"), word.capitalize())
        return any(self.count_tokens(f" {form}") <= ONE_TOKEN for form in forms)

    async def words(self, manifest: BookManifest) -> KnownWords:
        """Return the words of the book; cached. Raises StorageError."""

        async def make() -> KnownWords:
            chunks = await self.index.matching(SearchFilter(books=(manifest.book,)))
            return await asyncio.to_thread(_words_of, chunks)

        return await self._known.get(manifest, make)


def _words_of(chunks: Sequence[Chunk]) -> KnownWords:
    counts: Counter[str] = Counter()
    for one in chunks:
        counts.update(plain_words(" ".join((*one.heading_path, one.text_content))))
    return _folded(counts)


def _folded(counts: Counter[str]) -> KnownWords:
    return _merged([{word.lower(): (count, word)} for word, count in sorted(counts.items())])


def _merged(vocabularies: Sequence[KnownWords]) -> KnownWords:
    """Merge the words of several books; the most frequent spelling wins."""
    if len(vocabularies) == 1:
        return vocabularies[0]
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
    near = process.extract(
        wanted,
        _of_same_first_sound(wanted, known),
        scorer=OSA.normalized_similarity,
        score_cutoff=LEAST_SIMILARITY if word[1:].islower() else NAME_SIMILARITY,
        limit=None,
    )
    best = max(near, key=lambda one: (one[1], known[one[0]]), default=None)
    return known[best[0]][1] if best else ""


def _of_same_first_sound(wanted: str, known: KnownWords) -> list[str]:
    if wanted.startswith(("f", "ph")):
        return [one for one in known if one.startswith(("f", "ph")) and len(one) >= SHORTEST]
    first, other = wanted[0], "ph" if wanted[0] == "p" else ()
    return [
        one
        for one in known
        if one.startswith(first) and len(one) >= SHORTEST and not one.startswith(other)
    ]
