"""Suggest what to ask next: only questions that the index shows the book can answer."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

from app.domain.answering.invisible import without_invisible
from app.domain.answering.question_analysis import QuestionAnalysis
from app.domain.answering.refusal import share_of_ceilings
from app.domain.answering.suggestions import suggestions
from app.domain.errors import RagError
from app.domain.retrieval.query import Hit, SearchFilter
from app.domain.terms import Terms
from app.services.term_upper_bounds import TermUpperBounds

FOLLOW_UPS = 3
TRIED = 6
"""Questions that are checked at most: each costs a search."""
LEAST_SHARE = 0.43
"""Of what the suggestion's terms could score, what one chunk must have: BM25 alone, at this share,
refuses 91 % of the dev sets' foreign questions and 5 % of their own."""

_log = logging.getLogger(__name__)


class Searcher(Protocol):
    async def best_by_words(self, question: str, filter: SearchFilter) -> float: ...


@dataclass(frozen=True, slots=True)
class SuggestFollowUps:
    """Checked by BM25 alone: a suggestion must not cost a call to a provider."""

    retrieve: Searcher
    ceilings: TermUpperBounds

    async def after(
        self, analysis: QuestionAnalysis, hits: Sequence[Hit], scope: SearchFilter
    ) -> tuple[str, ...]:
        """Return up to three questions; none when the index fails, since the answer stands."""
        asked, terms = analysis.own_terms, analysis.terms
        found: list[str] = []
        try:
            for suggested in islice(suggestions(asked, hits, terms, analysis.asked_in), TRIED):
                if await self._answerable(suggested.about, scope, terms):
                    found.append(without_invisible(suggested.question))
                if len(found) == FOLLOW_UPS:
                    break
        except RagError as error:
            _log.warning("answer.follow_ups_failed", extra={"error": error.code})
            return ()
        return tuple(found)

    async def _answerable(self, about: str, scope: SearchFilter, terms: Terms) -> bool:
        best = await self.retrieve.best_by_words(about, scope)
        ceilings = await self.ceilings.of(terms(about), scope.books)
        return share_of_ceilings(best, ceilings) >= LEAST_SHARE
