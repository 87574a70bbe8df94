"""Computes the features of answerability, which do not depend on the embedder used for search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.domain.answering.answerability import (
    Reading,
    Support,
    counted_score,
    defined_share,
    phrases,
    share_of_bounds,
)
from app.domain.answering.question_analysis import QuestionFeatures
from app.domain.chunking.chunk import Chunk, Passage
from app.domain.document import BlockKind
from app.domain.retrieval.chunk_terms import ChunkTerms
from app.domain.retrieval.query import Hit, Vector
from app.services.similarity import BY_CHARACTERS, SimilarityEncoder

SCORED_HITS = 8
"""Number of hits scored, even if the answer is made from fewer."""

LONGEST_NAME = 2
"""Maximum number of words of a question that must stand together. Of 220 answerable questions in
readers' words 2 are uncertain for it."""

_NOT_ANSWERING = frozenset({BlockKind.HEADING, BlockKind.EXERCISE})


@dataclass(frozen=True, slots=True)
class AnswerabilityScorer:
    similarity: SimilarityEncoder
    chunk_terms: Callable[[Chunk], ChunkTerms]

    async def support(self, reading: Reading, hits: Sequence[Hit]) -> list[Support]:
        """Return the features of the best hits of a search. Raises StorageError."""
        near = hits[:SCORED_HITS]
        similar = await self._similarities(reading.vector, [hit.chunk for hit in near])
        support: list[Support] = []
        for hit, paragraph in zip(near, similar, strict=True):
            known = self.chunk_terms(hit.chunk)
            score = counted_score(
                hit.sparse_score or 0.0, reading.terms, reading.letters, known, reading.bounds
            )
            support.append(
                Support(
                    paragraph,
                    share_of_bounds(score, reading.bounds),
                    phrases(reading.terms, known, reading.bounds),
                    defined_share(known, reading.bounds),
                )
            )
        return support

    def names(self, question: QuestionFeatures, hits: Sequence[Hit]) -> bool:
        """Whether a sentence, heading or defined term of a hit has all words of a short question.

        "negative harmony" is not named by a text about harmony. True if there are more than
        `LONGEST_NAME` words, which may stand in different places.
        """
        asked, size = question.definition, len(question.definition_name)
        if not 0 < size <= LONGEST_NAME or question.language in BY_CHARACTERS:
            return True
        known = [self.chunk_terms(hit.chunk) for hit in hits[:SCORED_HITS]]
        return any(
            asked.issubset(terms)
            for one in known
            for terms in (one.heading, *one.defined, *(said.terms for said in one.sentences))
        )

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
