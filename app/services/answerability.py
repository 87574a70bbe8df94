"""The features that answerability is scored by, the same whatever embedder searched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import nlargest
from operator import itemgetter

from app.domain.answering.refusal import (
    Evidence,
    Support,
    counted_score,
    defined_share,
    phrases,
    share_of_bounds,
)
from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk, Passage
from app.domain.document import BlockKind
from app.domain.retrieval.chunk_terms import ChunkTerms, sentences
from app.domain.retrieval.query import Hit
from app.domain.terms import words
from app.services.similarity import BY_CHARACTERS, SimilarityEncoder
from app.services.term_upper_bounds import TermUpperBounds

SCORED_HITS = 8
"""Hits that answerability is scored by, even if the answer is made from fewer."""
READ_CLOSELY = 3
"""The paragraphs most similar to the question, compared with it sentence by sentence; more gain
nothing."""

_ASKS_ITSELF = frozenset({BlockKind.HEADING, BlockKind.EXERCISE})


@dataclass(frozen=True, slots=True)
class AnswerabilityScorer:
    vectors: SimilarityEncoder
    bounds: TermUpperBounds
    chunk_terms: Callable[[Chunk], ChunkTerms]

    async def evidence(
        self, question: str, hits: Sequence[Hit], books: Sequence[BookId] = ()
    ) -> Evidence:
        """Features of the best hits of a search in these books, or in all. Raises StorageError."""
        near = hits[:SCORED_HITS]
        language = near[0].chunk.language if near else "en"
        asked = self.bounds.ordered_terms(question, language)
        one_letter = self._one_letter_terms(question, language)
        bounds = await self.bounds.of(self.bounds.terms(question, language), books)
        title, similar = await self._similarities(question, [hit.chunk for hit in near], language)
        support: list[Support] = []
        for hit, (paragraph, sentence) in zip(near, similar, strict=True):
            known = self.chunk_terms(hit.chunk)
            support.append(
                Support(
                    paragraph,
                    sentence,
                    share_of_bounds(
                        counted_score(hit.sparse_score or 0.0, asked, one_letter, known, bounds),
                        bounds,
                    ),
                    phrases(asked, known, bounds),
                    defined_share(known, bounds),
                )
            )
        return Evidence(title, support)

    def _one_letter_terms(self, question: str, language: str) -> frozenset[int]:
        """None in a language that is indexed by its characters."""
        if language in BY_CHARACTERS:
            return frozenset()
        letters = [word for word in words(question) if len(word) == 1 and word.isalpha()]
        return frozenset(term for letter in letters for term in self.bounds.terms(letter, language))

    async def _similarities(
        self, question: str, chunks: Sequence[Chunk], language: str
    ) -> tuple[float, list[tuple[float, float]]]:
        """The greatest cosine of the question and a title; then for each chunk that of its most
        similar paragraph, and of the most similar sentence if that is among the `READ_CLOSELY`
        best paragraphs, else of the paragraph again. 0 where there is none.
        """
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
    """The passages that can answer: no headings, no exercises."""
    return [one for one in chunk.passages if one.kind not in _ASKS_ITSELF]
