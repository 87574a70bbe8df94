"""Analyse a question once: its language, terms and similarity vector, for every later step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

from app.domain.answering.question_analysis import QuestionAnalysis, analyse, single_letters
from app.domain.answering.refusal import Reading
from app.domain.book_id import BookId
from app.services.similarity import BY_CHARACTERS, SimilarityEncoder
from app.services.term_upper_bounds import TermUpperBounds


@dataclass(frozen=True, slots=True)
class AnalyseQuestion:
    bounds: TermUpperBounds
    similarity: SimilarityEncoder

    async def of(
        self,
        question: str,
        searched_for: str,
        language: str,
        books: Sequence[BookId],
        *,
        selected: bool = False,
    ) -> QuestionAnalysis:
        """Analyse a question for hits in these books, or in all. Raises StorageError.

        `searched_for` is the question with the turns that it refers to, or if `selected` with the
        selected text; `language` is that of the hits.
        """
        terms = cache(partial(self.bounds.terms, language=language))
        bounds = await self.bounds.of(terms(searched_for), books)
        found = analyse(question, searched_for, language, terms, bounds)
        readings = [await self._reading(one, language, books) for one in found.wordings]
        # The first wording is the question, the second has what it refers to.
        about = 0 if selected or searched_for == question else 1
        return replace(
            found,
            readings=tuple(readings),
            vector=readings[about].vector,
            compared=found.wordings[about],
        )

    async def _reading(self, text: str, language: str, books: Sequence[BookId]) -> Reading:
        letters: frozenset[int] = frozenset()
        if language not in BY_CHARACTERS:
            found = single_letters(text)
            letters = letters.union(*(self.bounds.terms(one, language) for one in found))
        return Reading(
            terms=self.bounds.ordered_terms(text, language),
            letters=letters,
            bounds=await self.bounds.of(self.bounds.terms(text, language), books),
            vector=await self.similarity.question(text, language),
        )
