"""Scores paragraphs for a question by late interaction of their token vectors.

As in ColBERT (Khattab and Zaharia, "ColBERT: Efficient and Effective Passage Search via
Contextualized Late Interaction over BERT", SIGIR 2020), each token of the question is compared with
the paragraph's most similar token. The score is the mean of these cosines plus the cosine of the
two mean vectors. On students' questions the sum chose more gold paragraphs than either term alone
(`specs/decisions/0007-offline-answers.md`).
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

from app.services.threads import in_thread

Matrix: TypeAlias = NDArray[np.float32]

MODEL_LANGUAGE = "en"
"""Language of the questions and books that the model reads, as an ISO 639-1 code."""

_CACHED_PARAGRAPHS = 400
"""Paragraphs whose token vectors are cached, about 60 MB."""
_MOST_TOKENS = 1_000
"""Tokens of a paragraph, headings included, after which the rest is ignored."""


class TokenModel(Protocol):
    def read(self, text: str) -> tuple[Matrix, NDArray[np.int64]]:
        """Return the contextual vectors, (tokens, dimension), and each token's first code point."""
        ...


@dataclass(frozen=True, slots=True)
class _ReadParagraph:
    mean: Matrix
    """(dimension), length 1, over the headings and the text."""
    tokens: NDArray[np.float16]
    """(tokens, dimension), each of length 1, of the text alone."""


@dataclass(slots=True)
class LateInteractionScorer:
    """Implements the `ParagraphScorer` port.

    Takes about 20 ms of CPU time for a paragraph that is not cached.
    """

    model: TokenModel
    _read: LRUCache[tuple[str, str], _ReadParagraph] = field(
        default_factory=lambda: LRUCache(_CACHED_PARAGRAPHS), init=False, repr=False
    )
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)
    """Questions are scored in several threads."""

    def reads(self, asked_in: str, language: str) -> bool:
        return asked_in == language == MODEL_LANGUAGE

    @in_thread
    def scores(self, question: str, paragraphs: Sequence[tuple[str, str]]) -> list[float]:
        asked, _ = self.model.read(question)
        if not len(asked):
            return [0.0] * len(paragraphs)
        mean, tokens = _unit(asked.mean(axis=0)), _unit(asked)
        return [self._score(mean, tokens, *one) for one in paragraphs]

    def _score(self, mean: Matrix, tokens: Matrix, headings: str, text: str) -> float:
        with self._lock:
            read = self._read.get((headings, text))
        if read is None:
            read = self._paragraph(headings, text)
            with self._lock:
                self._read[headings, text] = read
        if not len(read.tokens):
            return 0.0
        best = (tokens @ read.tokens.astype(np.float32).T).max(axis=1)
        return float(mean @ read.mean + best.mean())

    def _paragraph(self, headings: str, text: str) -> _ReadParagraph:
        before = f"{headings}. " if headings else ""
        vectors, starts = self.model.read(f"{before}{text}")
        vectors, starts = vectors[:_MOST_TOKENS], starts[:_MOST_TOKENS]
        own = vectors[starts >= len(before)]
        mean = vectors.mean(axis=0) if len(vectors) else np.zeros(vectors.shape[1:], np.float32)
        return _ReadParagraph(_unit(mean), _unit(own).astype(np.float16))


def _unit(vectors: Matrix) -> Matrix:
    """Scale vectors to length 1; zeros stay zeros."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: Matrix = (vectors / np.where(lengths, lengths, 1.0)).astype(np.float32)
    return scaled
