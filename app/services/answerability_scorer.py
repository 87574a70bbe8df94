"""Computes the features of answerability, which do not depend on the embedder used for search."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from heapq import nlargest

from app.domain.answering.answerability import (
    Evidence,
    Reading,
    Support,
    counted_score,
    defined_share,
    phrases,
    share_of_bounds,
)
from app.domain.chunking.chunk import Chunk, Passage
from app.domain.document import BlockKind
from app.domain.retrieval.chunk_terms import ChunkTerms, sentences
from app.domain.retrieval.query import Hit, Vector
from app.services.similarity import SimilarityEncoder

SCORED_HITS = 8
"""Number of hits scored, even if the answer is made from fewer."""
READ_CLOSELY = 3
"""Number of most similar paragraphs that are compared sentence by sentence; more gain nothing."""

_NOT_ANSWERING = frozenset({BlockKind.HEADING, BlockKind.EXERCISE})


@dataclass(frozen=True, slots=True)
class AnswerabilityScorer:
    vectors: SimilarityEncoder
    chunk_terms: Callable[[Chunk], ChunkTerms]

    async def evidence(self, reading: Reading, hits: Sequence[Hit]) -> Evidence:
        """Return the features of the best hits of a search. Raises StorageError."""
        near = hits[:SCORED_HITS]
        title, similar = await self._similarities(reading.vector, [hit.chunk for hit in near])
        support: list[Support] = []
        for hit, (paragraph, sentence) in zip(near, similar, strict=True):
            known = self.chunk_terms(hit.chunk)
            score = counted_score(
                hit.sparse_score or 0.0, reading.terms, reading.letters, known, reading.bounds
            )
            support.append(
                Support(
                    paragraph,
                    sentence,
                    share_of_bounds(score, reading.bounds),
                    phrases(reading.terms, known, reading.bounds),
                    defined_share(known, reading.bounds),
                )
            )
        return Evidence(title, support)

    async def _similarities(
        self, question: Vector, chunks: Sequence[Chunk]
    ) -> tuple[float, list[tuple[float, float]]]:
        """Return the highest cosine of a title, and for each chunk the cosines of its most similar
        paragraph and sentence.

        Sentences are compared in the `READ_CLOSELY` best paragraphs only; in others the sentence's
        cosine is the paragraph's. 0 if there is no text.
        """
        if not chunks:
            return 0.0, []
        titles = [one.section for one in chunks]
        paragraphs = [
            _Paragraph(at, f"{chunk.section} {said.text}", said)
            for at, chunk in enumerate(chunks)
            for said in _answering(chunk)
        ]
        texts = [*titles, *(one.text for one in paragraphs)]
        cosines = await self.vectors.similarities(question, texts, chunks[0].language)
        best = _highest(len(chunks), ((one.chunk, cosines[one.text]) for one in paragraphs))
        near = nlargest(READ_CLOSELY, paragraphs, key=lambda one: cosines[one.text])
        closely = await self._sentences(question, near, chunks)
        return max(map(cosines.__getitem__, titles)), [
            (one, said or one) for one, said in zip(best, closely, strict=True)
        ]

    async def _sentences(
        self, question: Vector, paragraphs: Sequence[_Paragraph], chunks: Sequence[Chunk]
    ) -> list[float]:
        """Return for each chunk the cosine of the most similar sentence of these paragraphs."""
        said = [(one.chunk, text) for one in paragraphs for text in sentences(one.passage)]
        texts = [text for _, text in said]
        cosines = await self.vectors.similarities(question, texts, chunks[0].language)
        return _highest(len(chunks), ((at, cosines[text]) for at, text in said))


@dataclass(frozen=True, slots=True)
class _Paragraph:
    chunk: int
    """Position of its chunk among the hits."""
    text: str
    """Its text after the title of its section."""
    passage: Passage


def _highest(count: int, scored: Iterable[tuple[int, float]]) -> list[float]:
    """Return the highest value for each of `count` positions, at least 0."""
    best = [0.0] * count
    for at, value in scored:
        best[at] = max(best[at], value)
    return best


def _answering(chunk: Chunk) -> list[Passage]:
    """Return the passages that can answer: all but headings and exercises."""
    return [one for one in chunk.passages if one.kind not in _NOT_ANSWERING]
