"""Computes the features of answerability, which do not depend on the embedder used for search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.domain.answering.answerability import (
    Reading,
    answerability,
    covered_share,
    defined_share,
    share_of_bounds,
)
from app.domain.answering.question_analysis import QuestionAnalysis
from app.domain.chunking.chunk import Chunk, Passage
from app.domain.document import BlockKind
from app.domain.retrieval.chunk_terms import ChunkTerms
from app.domain.retrieval.query import Hit, Vector
from app.services.similarity import SimilarityEncoder

SCORED_HITS = 8
"""Number of hits scored, even if the answer is made from fewer."""

_NOT_ANSWERING = frozenset({BlockKind.HEADING, BlockKind.EXERCISE})


@dataclass(frozen=True, slots=True)
class AnswerabilityScorer:
    similarity: SimilarityEncoder
    chunk_terms: Callable[[Chunk], ChunkTerms]

    async def score(self, reading: Reading, hits: Sequence[Hit]) -> float:
        """Return how likely the best hits of a search answer the question, 0 to 1.

        Raises StorageError.
        """
        near, bounds = hits[:SCORED_HITS], reading.bounds
        similar = await self._similarities(reading.vector, [hit.chunk for hit in near])
        known = [self.chunk_terms(hit.chunk) for hit in near]
        found = [
            (cosine, share_of_bounds(hit.sparse_score or 0.0, bounds), defined_share(terms, bounds))
            for cosine, hit, terms in zip(similar, near, known, strict=True)
        ]
        return answerability(found, covered_share(bounds, known))

    def unmentioned(self, question: QuestionAnalysis, hits: Sequence[Hit]) -> list[str]:
        """Return the names and rare words of the question that no hit has, in order.

        A text about servers does not answer how to install "RStudio Server".
        """
        known = frozenset[int]().union(*(self.chunk_terms(one.chunk).terms for one in hits))
        return [word for word, terms in question.rare.items() if terms - known]

    async def _similarities(self, question: Vector, chunks: Sequence[Chunk]) -> list[float]:
        """Return for each chunk the cosine of its most similar paragraph; 0 without any."""
        if not chunks:
            return []
        texts = [[f"{chunk.section} {said.text}" for said in _answering(chunk)] for chunk in chunks]
        every = [text for of_chunk in texts for text in of_chunk]
        cosines = await self.similarity.similarities(question, every, chunks[0].language)
        return [max((cosines[text] for text in of_chunk), default=0.0) for of_chunk in texts]


def _answering(chunk: Chunk) -> list[Passage]:
    """Return the passages that can answer: all but headings, exercises and other sections'."""
    return [one for one in chunk.own_passages if one.kind not in _NOT_ANSWERING]
