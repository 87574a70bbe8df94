"""Second stage of a search without a reranker: reranks the best candidates by features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from cachetools import LRUCache

from app.domain.chunking.chunk import Chunk
from app.domain.retrieval.chunk_terms import ChunkTerms, chunk_terms
from app.domain.retrieval.definition_terms import QUESTION_FRAME_WORDS
from app.domain.retrieval.query import Hit, SearchQuery
from app.domain.retrieval.rescoring import QuestionTerms, RescoringWeights, rescore
from app.services.similarity import SimilarityEncoder
from app.services.term_upper_bounds import TermUpperBounds

DEPTH = 30
"""Number of candidates reranked; with 20 results are slightly worse, with 50 not better."""

MOST_TERMS = 64
"""Maximum number of terms used of a long question, because each one costs a search."""

_CACHED_CHUNKS = 5_000
"""Chunks whose terms are cached, about 30 MB."""


@dataclass(slots=True)
class FeatureReranker:
    bounds: TermUpperBounds
    """Terms and their weights by rarity."""
    weights: RescoringWeights = field(default_factory=RescoringWeights)
    vectors: SimilarityEncoder | None = None
    """None: headings are compared only by their terms."""
    _known: LRUCache[tuple[str, str, str], ChunkTerms] = field(
        default_factory=lambda: LRUCache(_CACHED_CHUNKS), init=False, compare=False, repr=False
    )

    async def order(
        self, query: SearchQuery, hits: Sequence[Hit], standalone: str
    ) -> tuple[Hit, ...]:
        """Return the first `DEPTH` hits reranked, followed by the others in their order.

        `standalone` is the question with the earlier questions it depends on.
        """
        near, far = hits[:DEPTH], hits[DEPTH:]
        if not near:
            return ()
        asked = await self._asked(query, {hit.chunk.language for hit in near})
        similar = await self._similar(standalone, near)
        rescored = self._rescore(near, asked, query.page_url, similar)
        lowest = rescored[-1].score
        return (*rescored, *(replace(hit, score=min(hit.score, lowest)) for hit in far))

    def _rescore(
        self,
        hits: Sequence[Hit],
        asked: Mapping[str, QuestionTerms],
        page_url: str,
        similar: Sequence[float],
    ) -> list[Hit]:
        terms = [self.terms_of(hit.chunk) for hit in hits]
        return rescore(hits, terms, asked, self.weights, page_url, similar)

    async def _similar(self, question: str, hits: Sequence[Hit]) -> list[float]:
        """Return the cosine of the question and each hit's heading path; empty without a model."""
        if self.vectors is None:
            return []
        paths = [(hit.chunk.language, " ".join(hit.chunk.heading_path)) for hit in hits]
        found: dict[tuple[str, str], float] = {}
        for language in sorted({language for language, _ in paths}):
            texts = [path for of, path in paths if of == language and path]
            asked = await self.vectors.question(question, language)
            cosines = await self.vectors.similarities(asked, texts, language)
            found.update({(language, path): cosine for path, cosine in cosines.items()})
        return [found.get(path, 0.0) for path in paths]

    def terms_of(self, chunk: Chunk) -> ChunkTerms:
        """The terms of a chunk, cached."""
        key = (chunk.book, chunk.book_version, chunk.chunk_id)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = chunk_terms(chunk, self.bounds.ordered_terms)
        return found

    async def _asked(self, query: SearchQuery, languages: set[str]) -> Mapping[str, QuestionTerms]:
        ordered = self.bounds.ordered_terms
        terms = {language: ordered(query.question, language)[:MOST_TERMS] for language in languages}
        every = {term for found in terms.values() for term in found}
        weights = await self.bounds.of(every, query.filter.books)
        return {
            language: QuestionTerms(
                found,
                weights,
                ordered(QUESTION_FRAME_WORDS.get(language, ""), language),
            )
            for language, found in terms.items()
        }
