"""What the book has for a question: page located, question analysed, searched for and scored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Protocol

from app.domain.abbreviations import short_words, written_out
from app.domain.answering.comparison import compared
from app.domain.answering.definitions import (
    POOL,
    asks_definition,
    defined_terms,
    definitions_first,
    in_front,
    is_defined,
    name_asked,
    places_that_define,
)
from app.domain.answering.exercises import Solutions, asked_exercise, explaining, for_solving
from app.domain.answering.languages import bare_question
from app.domain.answering.question_analysis import QuestionAnalysis
from app.domain.answering.refusal import RefusalPolicy, answerability
from app.domain.answering.request import AskRequest
from app.domain.answering.scope import NEEDS_PAGE, PageLocation, Scope, narrowed, page_preferred
from app.domain.answering.selection import selected_paragraph
from app.domain.answering.spelling import long_words, respelled
from app.domain.chunking.chunk import Chunk
from app.domain.errors import QuestionError
from app.domain.languages import guess_language
from app.domain.retrieval.query import ContextPassage, Hit, SearchFilter, SearchMode, SearchQuery
from app.domain.terms import Terms, words
from app.services.answerability import JUDGED_HITS, AnswerabilityScorer
from app.services.page_locator import PageLocator
from app.services.ports import GenerationRequest
from app.services.retrieve import SearchResult
from app.services.term_upper_bounds import TermUpperBounds

EARLIER_TURN = 0.5
"""Weight of a term that only the question before this one had, or the selected text."""
COMMON = 1
"""Tokens of a word that is common in its language, and so not a misspelling of another."""


class Retriever(Protocol):
    """What the answer path needs of `app.services.retrieve.Retrieve`."""

    async def search(self, query: SearchQuery) -> SearchResult: ...

    async def context(self, hits: Sequence[Hit], token_budget: int) -> Sequence[ContextPassage]: ...

    async def best_by_words(self, question: str, filter: SearchFilter) -> float: ...


@dataclass(frozen=True, slots=True)
class Consultation:
    """One question with what the book has for it."""

    request: AskRequest
    scope: SearchFilter
    """What may answer: the request's filter, narrowed by its scope."""
    found: SearchResult
    analysis: QuestionAnalysis
    context: Sequence[ContextPassage]
    """The paragraphs that an answer is made from, in reading order."""
    exercise: str
    """Id of the exercise of the book that is asked, or ""."""
    solution: frozenset[str]
    """Ids of the paragraphs that solve it, when they are to be shown."""
    score: float
    """How likely it is that the book answers, 0 to 1."""

    @property
    def generation(self) -> GenerationRequest:
        request, selection = self.request, self.request.selection
        analysis = self.analysis
        if selection:
            # A selected text has its own place in the answer.
            analysis = replace(analysis, standalone=request.question)
        known = selection.text if selection and request.scope is not Scope.SELECTION else ""
        return GenerationRequest(
            request.question_with_selection,
            request.history,
            self.context,
            analysis,
            selected=known,
            solution=self.solution,
            answerability=self.score,
        )


@dataclass(frozen=True, slots=True)
class ConsultBook:
    """Finds what an answer is made from, and how likely it is that it answers."""

    retrieve: Retriever
    ceilings: TermUpperBounds
    places: PageLocator
    judge: AnswerabilityScorer
    refusal: RefusalPolicy
    count_tokens: Callable[[str], int]
    context_tokens: int = 3_000
    """Token budget of the paragraphs that an answer is made from."""

    async def read(self, request: AskRequest) -> Consultation:
        """What is found for the question. Where the policy rephrases, one that would be refused is
        scored with its abbreviations written out, and if that answers nothing, put with its
        misspelt words right.

        Raises QuestionError and what retrieval raises.
        """
        read = await self._consult(request)
        if not self.refusal.rephrases or not read.found.hits or not self.refuses(read):
            return read
        if written := await self._asked_anew(read, self._written_out(read)):
            # The book goes on with the short form, so that leads to what the answer is made of.
            return replace(read, score=written.score)
        return await self._asked_anew(read, await self._respelled(read)) or read

    def refuses(self, read: Consultation) -> bool:
        """Whether the book does not say it, as far as can be told before an answer is written."""
        if not read.context or read.exercise:
            return not read.context
        own = guess_language(read.request.question, "") == read.analysis.language
        return self.refusal.refuses(read.score, own_language=own)

    async def _asked_anew(self, read: Consultation, question: str) -> Consultation | None:
        """What is found when the question is put so; None if it is no other, or refused, too."""
        if question == read.request.question:
            return None
        other = await self._consult(replace(read.request, question=question))
        return None if self.refuses(other) else other

    def _written_out(self, read: Consultation) -> str:
        question = read.request.question
        words = [one for one in short_words(question) if read.analysis.terms(one)]
        return written_out(question, words, [hit.chunk.text_content for hit in read.found.hits])

    async def _respelled(self, read: Consultation) -> str:
        question, terms = read.request.question, read.analysis.terms
        rare = [one for one in long_words(question) if self.count_tokens(f" {one}") > COMMON]
        words = {word: list(terms(word)) for word in rare}
        every = sorted({term for each in words.values() for term in each})
        missing = await self.ceilings.missing(every, read.scope.books)
        unknown = [word for word, each in words.items() if each and missing.issuperset(each)]
        return respelled(question, unknown, [hit.chunk.text_content for hit in read.found.hits])

    async def _consult(self, request: AskRequest) -> Consultation:
        place, scope = await self._place(request)
        found = await self._search(request, scope)
        asked = found.question
        language = found.hits[0].chunk.language if found.hits else "en"
        terms = cache(partial(self.ceilings.terms, language=language))
        ceilings = await self.ceilings.of(terms(asked), scope.books) if found.hits else {}
        own = terms(request.question)
        preferred = page_preferred(found.hits, place) if place else found.hits
        term = defined_terms(request.question, terms)
        name = name_asked(request.question)
        ranked = definitions_first(preferred, term, terms, self.judge.chunk_terms, name)
        exercise = asked_exercise(request.question, found.hits, terms)
        if exercise:
            ranked = explaining(ranked)
        both = await self._defining_compared(request, scope, terms) if found.hits else []
        hits = await self._with_selection(request, scope, in_front(both, ranked[: request.k]))
        solution: list[Chunk] = []
        if exercise and request.solutions is Solutions.SHOW:
            solution = await self.places.solution_of(exercise, scope.books)
        context = await self.retrieve.context(
            [*(Hit(one, 1.0) for one in solution), *hits], self.context_tokens
        )
        telling = terms(bare_question(request.question, language)) or own
        weights = {
            term: ceiling if term in own else EARLIER_TURN * ceiling
            for term, ceiling in ceilings.items()
            if term in telling or term not in own
        }
        return Consultation(
            request=request,
            scope=scope,
            found=found,
            analysis=QuestionAnalysis(request.question, asked, language, terms, weights),
            context=for_solving(context, request.solutions),
            exercise=exercise,
            solution=frozenset(
                passage.paragraph_id for one in solution for passage in one.passages
            ),
            score=1.0
            if both or is_defined(found.hits, term, terms)
            else await self._score(request.question, found, scope, language),
        )

    async def _score(
        self, question: str, found: SearchResult, scope: SearchFilter, language: str
    ) -> float:
        """Of the question alone, with the one before it, or without what another language than
        the book's says round its subject: of whatever the book answers best.
        """
        readings = (question, found.question, bare_question(question, language))
        return max(
            [
                answerability(await self.judge.evidence(one, found.hits, scope.books))
                for one in dict.fromkeys(readings)
            ]
        )

    async def _place(self, request: AskRequest) -> tuple[PageLocation | None, SearchFilter]:
        """Where the reader is, if that is known, and what may answer."""
        if request.scope is Scope.SELECTION and request.selection is None:
            message = "scope selection needs a selection"
            raise QuestionError(message)
        books = request.filter.books
        place = await self.places.page(request.page_url, books) if request.page_url else None
        if place:
            so_far = request.scope is Scope.SO_FAR
            end = await self.places.chapter_end(place) if so_far else None
            return place, narrowed(request.filter, request.scope, place, end)
        if request.scope in NEEDS_PAGE:
            message = (
                f"scope {request.scope!s} needs the address of an indexed page in page_url, "
                f"not {request.page_url[:200]!r}"
            )
            raise QuestionError(message)
        return None, request.filter

    async def _search(self, request: AskRequest, scope: SearchFilter) -> SearchResult:
        asked = request.question
        if request.selection:
            asked = request.selection.search_text(asked)
        pool = POOL if asks_definition(request.question) else JUDGED_HITS
        query = SearchQuery(
            asked,
            k=max(request.k, pool),
            filter=scope,
            history=request.history,
            rewrite=not request.selection,
        )
        return await self.retrieve.search(query)

    async def _defining_compared(
        self, request: AskRequest, scope: SearchFilter, terms: Terms
    ) -> list[Hit]:
        """Where the book says what each of the compared things is; empty unless it does of all."""
        places: list[Hit] = []
        for subject in compared(request.question, terms):
            # By words alone: a definition has its term, and no provider need be paid for it.
            query = SearchQuery(
                f"{subject.name}?", k=POOL, mode=SearchMode.SPARSE, filter=scope, rerank=False
            )
            hits = (await self.retrieve.search(query)).hits
            known, name = self.judge.chunk_terms, tuple(words(subject.name))
            found = (places_that_define(hits, one, terms, known, name) for one in subject.readings)
            defining = next(filter(None, found), [])
            if not defining:
                return []
            places += defining
        return places

    async def _with_selection(
        self, request: AskRequest, scope: SearchFilter, hits: Sequence[Hit]
    ) -> Sequence[Hit]:
        """The hits with the selected paragraph in front; that alone in scope "selection"."""
        selection = request.selection
        if selection is None:
            return hits
        named = await self.places.chunks_of(selection.paragraph_id, scope.books)
        front = selected_paragraph(selection, named, hits)
        return front if request.scope is Scope.SELECTION else [*front, *hits]
