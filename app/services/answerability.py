"""Computes the features of answerability, which do not depend on the embedder used for search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import nlargest
from operator import itemgetter

from app.domain.answering.refusal import (
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

_ASKS_ITSELF = frozenset({BlockKind.HEADING, BlockKind.EXERCISE})


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
        language = chunks[0].language if chunks else ""
        titled = [
            [(f"{one.section} {said.text}", said) for said in _answering(one)] for one in chunks
        ]
        cosines = await self.vectors.similarities(
            question,
            [*(one.section for one in chunks), *(text for own in titled for text, _ in own)],
            language,
        )
        title = max((cosines[one.section] for one in chunks), default=0.0)
        paragraphs = [
            (cosines[text], at, said) for at, own in enumerate(titled) for text, said in own
        ]
        best, best_sentence = [0.0] * len(chunks), [0.0] * len(chunks)
        for cosine, at, _ in paragraphs:
            best[at] = max(best[at], cosine)
        near = [
            (at, sentences(said))
            for _, at, said in nlargest(READ_CLOSELY, paragraphs, key=itemgetter(0))
        ]
        closely = await self.vectors.similarities(
            question, [text for _, texts in near for text in texts], language
        )
        for at, texts in near:
            best_sentence[at] = max(best_sentence[at], *(closely[text] for text in texts), 0.0)
        return title, [(one, said or one) for one, said in zip(best, best_sentence, strict=True)]


def _answering(chunk: Chunk) -> list[Passage]:
    """Return the passages that can answer: all but headings and exercises."""
    return [one for one in chunk.passages if one.kind not in _ASKS_ITSELF]
