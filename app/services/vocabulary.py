"""The words of books, by which unknown words of a question are understood.

A misspelled word is replaced. Of a word that the book lacks, the most similar one is added to the
search: an inflected form, a compound, a cognate of another language ("inmunidad adaptativa" finds
"adaptive immunity").
"""

import asyncio
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from rapidfuzz import process
from rapidfuzz.distance import OSA, JaroWinkler

from app.domain.chunking.chunk import Chunk
from app.domain.indexed_book import BookList
from app.domain.languages import clearly_another_language, known_language
from app.services.book_scope import BookCache
from app.services.lexical import LexicalEncoder, TermUpperBounds
from app.services.ports import VectorIndex

MOST_BOOKS = 16
"""Books whose words are cached, about 5 MB each. In more books no similar words are looked for."""
MOST = 16
"""Maximum number of words of a question, because each may be compared with every word of a book."""
SHORTEST = 5
"""Minimum number of letters; a shorter word is within one edit of too many others."""
SHORTEST_SIMILAR = 4
"""The same of a word that is added."""
LEAST_SIMILARITY = 0.83
"""1 - edits / length of the longer word: one letter in six is wrong, missing, added or swapped
with its neighbour."""
SWAPPED_SIMILARITY = 0.79
"""The same for a word of the same letters, such as "cycel" for "cycle"."""
NAME_SIMILARITY = 0.9
"""The same for words with capitals, because different names are similar: useState and UsState."""
LEAST_JARO_WINKLER = 0.86
"""The same of a word that is added. Jaro-Winkler similarity gives the beginning more weight.
Questions of xquad-es on xquad-en: hit@5 .82 with .82 and .86, .79 with .9, .58 without."""

Words: TypeAlias = Mapping[str, tuple[int, str]]
"""Word in lower case -> (frequency in the books, most frequent spelling)."""

_WORD = re.compile(r"[^\W\d_]+")
_FIRST_UNSPACED = "\u0e00"
"""Most scripts behind it, Thai first, have no blanks between words."""


class Vocabulary(NamedTuple):
    words: Words
    unaccented: Words
    """Those that may be added to a search, by their form without accents."""


class BookVocabulary:
    """A book's words are counted at the first question that needs them."""

    def __init__(
        self,
        index: VectorIndex,
        lexical: LexicalEncoder,
        bounds: TermUpperBounds,
        count_tokens: Callable[[str], int],
    ) -> None:
        self._lexical, self._bounds, self._count_tokens = lexical, bounds, count_tokens
        self._known = BookCache(index, _vocabulary_of, MOST_BOOKS)

    async def corrected(self, question: str, books: BookList) -> str:
        """Return the question with misspelled words replaced by words of these books.

        Names and common words only get accents. A question in another language than the books' is
        unchanged, if it is long enough to detect the language. Raises StorageError.
        """
        language = books.language
        unknown = await self._unknown(question, language, books)
        if not unknown or clearly_another_language(question, language):
            return question
        known = (await self._of(books)).words
        misspelled = {word for word in correctable(question) if not self.is_common(word.lower())}
        lacking = [word for word in unknown if word.lower() not in known]
        right = accented([word for word in lacking if word not in misspelled], known)
        right |= {word: closest(word, known) for word in lacking if word in misspelled}
        return replace_words(question, right)

    async def similar(self, question: str, language: str, books: BookList) -> Mapping[str, str]:
        """Return words of a question in this language that the books lack -> the most similar ones.

        Raises StorageError.
        """
        lacking = await self._unknown(question, books.language, books)
        if not lacking:
            return {}
        known = (await self._of(books)).unaccented
        return await asyncio.to_thread(similar_words, lacking, language, known)

    def is_common(self, word: str) -> bool:
        """Whether a word in lower case, or its singular, is one BPE token, so spelled correctly."""
        forms = (word, word.removesuffix("s"), word.capitalize())
        return any(self._count_tokens(f" {form}") <= 1 for form in forms)

    async def _unknown(self, question: str, language: str, books: BookList) -> list[str]:
        """Return the words whose term is in none of the books."""
        terms = {word: self._lexical.terms(word, language) for word in long_words(question)}
        every = sorted(frozenset().union(*terms.values()))
        missing = await self._bounds.missing(every, books) if every else set()
        return [word for word, own in terms.items() if own & missing]

    async def _of(self, books: BookList) -> Vocabulary:
        """Return the words of these books, cached by book; none of more than `MOST_BOOKS` books."""
        few = books.named() if len(books) <= MOST_BOOKS else ()
        known = [await self._known.of(manifest) for manifest in few]
        if len(known) == 1:
            return known[0]
        return Vocabulary(
            _merged(one.words for one in known), _merged(one.unaccented for one in known)
        )


def _vocabulary_of(chunks: Sequence[Chunk]) -> Vocabulary:
    counts: Counter[str] = Counter()
    for one in chunks:
        counts.update(_WORD.findall(" ".join((*one.heading_path, one.text_content))))
    words = _merged({word.lower(): (n, word)} for word, n in sorted(counts.items()))
    return Vocabulary(words, without_accents(words))


def without_accents(known: Words) -> Words:
    """Return the words that may be added to a search, by their form without accents."""
    forms = ((_fold(word), written) for word, written in known.items())
    return _merged({form: written} for form, written in forms if _may_be_added(form))


def _merged(vocabularies: Iterable[Words]) -> Words:
    """Merge the words of several books; the most frequent spelling wins."""
    known: dict[str, tuple[int, str]] = {}
    for one in vocabularies:
        for word, written in one.items():
            known[word] = max(written, known.get(word, written))
    return known


def replace_words(text: str, others: Mapping[str, str]) -> str:
    """Replace words of a text; one whose replacement is "" stays."""
    return _WORD.sub(lambda match: others.get(match[0]) or match[0], text)


def long_words(text: str) -> list[str]:
    """Return the distinct words of at least `SHORTEST` letters, in order."""
    return [*dict.fromkeys(one for one in _WORD.findall(text) if len(one) >= SHORTEST)][:MOST]


def correctable(text: str) -> list[str]:
    """Return the distinct words that may be misspelled, in order.

    Names with an initial capital are left out, unlike "createAsyncThnk".
    """
    return [one for one in long_words(text) if one[0].islower() or text.startswith(one)]


def accented(asked: Sequence[str], known: Words) -> dict[str, str]:
    """Return for each of these words the most frequent known one that differs only in accents.

    The known words are gone through once: a book may have 60,000.
    """
    wanted, lengths = set(map(_fold, asked)), set(map(len, asked))
    near = (one for one in known if len(one) in lengths and not one.isascii())
    by_count = sorted((known[one], folded) for one in near if (folded := _fold(one)) in wanted)
    found = {folded: spelling for (_, spelling), folded in by_count}
    return {one: found[_fold(one)] for one in asked if _fold(one) in found}


def closest(word: str, known: Words) -> str:
    """Return the most similar known word, of equally similar ones the most frequent; "" if none.

    The first sound must be equal, so that "unsorted" is not corrected to "sorted"; "ph" equals "f".
    """
    wanted = _fold(word)
    sound, letters = _first_sound(wanted), sorted(wanted)
    least = LEAST_SIMILARITY if word[1:].islower() else NAME_SIMILARITY
    found = process.extract(
        wanted,
        {one: _fold(one) for one in known if len(one) >= SHORTEST and _first_sound(one) == sound},
        scorer=OSA.normalized_similarity,
        score_cutoff=min(least, SWAPPED_SIMILARITY),
        limit=None,
    )
    near = [one for one in found if one[1] >= least or sorted(one[0]) == letters]
    best = max(near, key=lambda one: (one[1], known[one[2]]), default=None)
    return known[best[2]][1] if best else ""


def _first_sound(word: str) -> str:
    # A Korean syllable is several letters and so equals none: other particles are no misspelling.
    return "f" if word.startswith("ph") else _fold(word[0])


def similar_words(lacking: Sequence[str], language: str, known: Words) -> dict[str, str]:
    """Return these words of a question in this language -> the most similar known ones.

    `known` is as of `without_accents`. Function words have none.
    """
    spoken = known_language(language)
    left_out = set(map(_fold, [*spoken.words, *spoken.comparison.split()]))
    found: dict[str, str] = {}
    for word in lacking:
        folded = _fold(word)
        if not _may_be_added(folded) or folded in left_out:
            continue
        near = process.extractOne(
            folded, [*known], scorer=JaroWinkler.similarity, score_cutoff=LEAST_JARO_WINKLER
        )
        found |= {word: known[near[0]][1]} if near else {}
    return found


def _may_be_added(word: str) -> bool:
    return word[0] < _FIRST_UNSPACED and len(word) >= SHORTEST_SIMILAR


def _fold(word: str) -> str:
    """Fold case and accents of any script; index terms fold only those of Latin letters."""
    if word.isascii():
        return word.lower()
    letters = unicodedata.normalize("NFD", word.lower())
    return "".join(one for one in letters if not unicodedata.combining(one))
