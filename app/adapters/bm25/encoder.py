"""BM25 term weights for any text of a book: prose in many languages, code, symbols.

The weight of a term in a document is `tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / average))`
(Robertson and Zaragoza 2009, "The Probabilistic Relevance Framework"); the index multiplies in the
inverse document frequency. The average length is a constant, so that a vector depends on its own
text alone and an unchanged chunk keeps it.
"""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import chain

from app.adapters.bm25.analyzer import Analyzer, is_spaced, spaced_calls, tokens
from app.domain.retrieval.query import SparseVector

_CACHED_TOKENS = 300_000
"""Distinct tokens cached for a language, about 60 MB at most."""

_CACHED_LENGTH = 64


class Bm25Encoder:
    """`SparseEncoder`; safe to use from several threads."""

    def __init__(self, k1: float = 1.2, b: float = 0.75, average_length: float = 200.0) -> None:
        """`average_length` is the usual number of terms in a chunk, stop words left out."""
        self._k1 = k1
        self._b = b
        self._average_length = average_length
        self._languages: dict[str, _Terms] = {}

    @property
    def fingerprint(self) -> str:
        """Changes whenever vectors would change: an index with another fingerprint is stale."""
        return f"bm25-3/{self._k1}/{self._b}/{self._average_length}"

    def encode_document(self, text: str, language: str) -> SparseVector:
        """Weights of all terms. `language` is an ISO 639-1 code; "pt-BR" counts as "pt"."""
        ids = self._terms(language).ids(text, query=False)
        k1 = self._k1
        damping = k1 * (1 - self._b + self._b * len(ids) / self._average_length)
        counts = Counter(ids)
        weights = {tf: tf * (k1 + 1) / (tf + damping) for tf in set(counts.values())}
        terms = sorted(counts)
        return SparseVector(tuple(terms), tuple([weights[counts[term]] for term in terms]))

    def encode_query(self, text: str, language: str) -> SparseVector:
        """Weight 1 for each distinct term."""
        ids = sorted(set(self._terms(language).ids(text, query=True)))
        return SparseVector(tuple(ids), (1.0,) * len(ids))

    def terms(self, text: str, language: str) -> list[int]:
        """Term ids of a document in the text's order, with repeats."""
        return self._terms(language).ids(text, query=False)

    def _terms(self, language: str) -> _Terms:
        known = self._languages.get(language)
        if known is not None:
            return known
        code = language.lower().replace("_", "-").split("-", 1)[0]
        if code not in self._languages:
            self._languages.setdefault(code, _Terms(code))
        return self._languages[code]


class _Terms:
    """Text to term ids in one language; each distinct token is analyzed once."""

    def __init__(self, language: str) -> None:
        self._analyzer = Analyzer(language)
        self._known = _Known(self._analyze)
        self._analyzing = threading.Lock()  # a stemmer is not safe in two threads

    def ids(self, text: str, *, query: bool) -> list[int]:
        """Term ids in order. A run of Chinese, Japanese, Korean or Thai becomes bigrams.

        A document has its single characters too, for queries of one character.
        """
        ids = self._spaced(text) if is_spaced(text) else self._mixed(text, query=query)
        ids += [_term_id(call) for call in spaced_calls(text)]
        return ids

    def _spaced(self, text: str) -> list[int]:
        """The common case, without a Python step for each token."""
        return list(chain.from_iterable(map(self._known.__getitem__, text.split())))

    def _mixed(self, text: str, *, query: bool) -> list[int]:
        ids: list[int] = []
        known = self._known
        for token, grams in tokens(text):
            if grams is None:
                ids += known[token]
            elif not query or len(token) == 1:
                ids += [self._gram(gram) for gram in (*token, *grams)]
            else:
                ids += [self._gram(gram) for gram in grams]
        return ids

    def _gram(self, gram: str) -> int:
        found = self._known.get(gram)
        return self._remember(gram, (gram,))[0] if found is None else found[0]

    def _analyze(self, token: str) -> tuple[int, ...]:
        with self._analyzing:
            return self._remember(token, self._analyzer.terms(token))

    def _remember(self, token: str, terms: Iterable[str]) -> tuple[int, ...]:
        found = tuple(map(_term_id, terms))
        if len(token) <= _CACHED_LENGTH:
            if len(self._known) >= _CACHED_TOKENS:
                self._known.clear()
            self._known[token] = found
        return found


class _Known(dict[str, tuple[int, ...]]):
    """Terms by token; an unknown token is looked up by `analyze`."""

    def __init__(self, analyze: Callable[[str], tuple[int, ...]]) -> None:
        super().__init__()
        self._analyze = analyze

    def __missing__(self, token: str) -> tuple[int, ...]:
        return self._analyze(token)


@lru_cache(maxsize=65_536)
def _term_id(term: str) -> int:
    """Unsigned 32 bits: in a vocabulary of 100,000 terms about one pair shares an id."""
    return int.from_bytes(hashlib.blake2b(term.encode(), digest_size=4).digest(), "big")
