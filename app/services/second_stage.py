"""The second stage of a search without a reranker: the best candidates, looked into."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from app.domain.retrieval.definitions import CARRIERS
from app.domain.retrieval.query import Hit
from app.domain.retrieval.rescoring import AskedTerms, RescoringWeights, rescore
from app.services.ports import SparseEncoder
from app.services.term_ceilings import TermCeilings

DEPTH = 30
"""Candidates that are looked into; 20 do nearly as well, 50 no better."""


@dataclass(frozen=True, slots=True)
class SecondStage:
    sparse: SparseEncoder
    ceilings: TermCeilings
    """A term that few chunks have says more of what is asked."""
    weights: RescoringWeights = field(default_factory=RescoringWeights)

    async def order(
        self, question: str, hits: Sequence[Hit], books: Sequence[str]
    ) -> tuple[Hit, ...]:
        """The first `DEPTH` hits in their new order, then the others below them, in theirs."""
        near, far = hits[:DEPTH], hits[DEPTH:]
        if not near:
            return ()
        asked = await self._asked(question, {hit.chunk.language for hit in near}, books)
        rescored = await asyncio.to_thread(rescore, near, asked, self.sparse.terms, self.weights)
        lowest = rescored[-1].score
        return (*rescored, *(replace(hit, score=min(hit.score, lowest)) for hit in far))

    async def _asked(
        self, question: str, languages: set[str], books: Sequence[str]
    ) -> Mapping[str, AskedTerms]:
        terms = {language: self.sparse.terms(question, language) for language in languages}
        every = {term for found in terms.values() for term in found}
        weights = await self.ceilings.of(every, books)
        return {
            language: AskedTerms(
                found, weights, self.sparse.terms(CARRIERS.get(language, ""), language)
            )
            for language, found in terms.items()
        }
