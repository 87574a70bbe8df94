"""Answer a question from the book: retrieve, decide, generate or extract, verify, cite."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Protocol

from app.domain.abbreviations import short_words, written_out
from app.domain.answer import Answer, AnswerEvent, Finished
from app.domain.answering.comparison import compared
from app.domain.answering.consulted import Consulted
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
from app.domain.answering.history import recent
from app.domain.answering.languages import bare_question
from app.domain.answering.refusal import GENERATOR_THRESHOLD, THRESHOLD, answerability
from app.domain.answering.request import AskRequest
from app.domain.answering.scope import NEEDS_PAGE, Place, Scope, narrowed, page_preferred
from app.domain.answering.selection import selected_paragraph
from app.domain.answering.spelling import long_words, respelled
from app.domain.answering.units import SplitSentences
from app.domain.chunking.chunk import Chunk
from app.domain.errors import QuestionError
from app.domain.languages import guess_language
from app.domain.retrieval.query import ContextPassage, Hit, SearchFilter, SearchMode, SearchQuery
from app.domain.terms import Terms, words
from app.services.answer_task import AnswerTask
from app.services.follow_ups import SuggestFollowUps
from app.services.judge import JUDGED_HITS, JudgeAnswerability
from app.services.ports import Generator
from app.services.quote_links import LinkQuotes
from app.services.reading_places import ReadingPlaces
from app.services.retrieve import SearchResult
from app.services.term_ceilings import TermCeilings

EARLIER_TURN = 0.5
"""Weight of a term that only the question before this one had, or the selected text."""


COMMON = 1
"""Tokens of a word that is common in its language, and so not a misspelling of another."""
SEARCHES_AT_ONCE = 24
"""Questions that are searched for at a time; the others wait for their turn. Else all of a crowd's
calls to a provider would be made first, and then time out while the processor is at work."""


class Retriever(Protocol):
    """What this use case needs of `app.services.retrieve.Retrieve`."""

    async def search(self, query: SearchQuery) -> SearchResult: ...

    async def context(self, hits: Sequence[Hit], token_budget: int) -> Sequence[ContextPassage]: ...

    async def best_by_words(self, question: str, filter: SearchFilter) -> float: ...


@dataclass(frozen=True, slots=True)
class AnswerQuestion:
    """The use case. Without a generator the answer is made of the book's own sentences.

    Below a threshold of answerability, 0 to 1, the answer is that the book does not say.
    """

    retrieve: Retriever
    generator: Generator | None
    split_sentences: SplitSentences
    ceilings: TermCeilings
    places: ReadingPlaces
    judge: JudgeAnswerability
    links: LinkQuotes
    count_tokens: Callable[[str], int]
    history_tokens: int = 1_000
    """Token budget of the conversation so far; its latest turns are kept."""
    context_tokens: int = 3_000
    """Token budget of the paragraphs that an answer is made from."""
    max_question_chars: int = 4_000
    refusal_threshold: float = THRESHOLD
    generator_threshold: float = GENERATOR_THRESHOLD
    _turns: asyncio.Semaphore = field(
        default_factory=lambda: asyncio.Semaphore(SEARCHES_AT_ONCE), compare=False, repr=False
    )

    async def answer(self, request: AskRequest) -> Answer:
        """Return the whole answer. Raises as `stream` does."""
        async with aclosing(self.stream(request)) as events:
            async for event in events:
                if isinstance(event, Finished):
                    return event.answer
        message = "the answer's stream ended without an end"
        raise RuntimeError(message)

    async def stream(self, request: AskRequest) -> AsyncGenerator[AnswerEvent, None]:
        """Yield Started, then TextDelta and CitationFound interleaved, then Finished.

        Raises QuestionError before the first event, what retrieval raises, and any ProviderError
        once the generator has begun to write. When it fails before, the answer is extractive: the
        mode in Started is a plan, the one in Finished the fact.
        """
        history = recent(request.history, self.history_tokens, self.count_tokens)
        async with self._turns:
            task = await self._read(replace(request, history=history))
        async with aclosing(self._events(task)) as events:
            async for event in events:
                yield await self._with_follow_ups(await self.links.event(event), task)

    async def _events(self, task: AnswerTask) -> AsyncGenerator[AnswerEvent, None]:
        solutions = task.request.solutions
        if self._refuses(task):
            for event in task.refuse():
                yield event
        elif task.exercise and solutions is Solutions.HIDE:
            for event in task.point():
                yield event
        elif self.generator is None or (task.exercise and solutions is Solutions.HINT):
            for event in await task.extract():
                yield event
        else:
            written = task.generate(self.generator, self.refusal_threshold)
            async with aclosing(written) as events:
                async for event in events:
                    yield event

    async def answerability(self, request: AskRequest) -> float:
        """What `refusal_threshold` is compared with, 0 to 1. Raises as `stream` does."""
        task = await self._read(request)
        return task.score if task.consulted.context else 0.0

    async def _with_follow_ups(self, event: AnswerEvent, task: AnswerTask) -> AnswerEvent:
        """The event; the end of an answer with questions that go on from it."""
        if not isinstance(event, Finished) or event.answer.refused:
            return event
        suggest = SuggestFollowUps(self.retrieve, self.ceilings)
        cited = {(one.book, one.file) for one in event.answer.citations}
        near = sorted(
            task.found.hits, key=lambda hit: (hit.chunk.book, hit.chunk.file) not in cited
        )
        asked = task.request.question
        async with self._turns:
            questions = await suggest.after(asked, near, task.scope, task.consulted.language)
        return Finished(replace(event.answer, follow_ups=questions))

    def _check(self, question: str) -> None:
        if not question.strip():
            message = "the question is empty"
            raise QuestionError(message)
        if len(question) > self.max_question_chars:
            message = (
                f"the question has {len(question):,} characters; "
                f"at most {self.max_question_chars:,} are allowed"
            )
            raise QuestionError(message)

    async def _read(self, request: AskRequest) -> AnswerTask:
        """What is found for the question; without a generator, one that would be refused is judged
        with its abbreviations written out, and if that answers nothing, put with its misspelt words
        right.
        """
        self._check(request.question)
        task = await self._consult(request)
        if self.generator is not None or not task.found.hits or not self._refuses(task):
            return task
        if written := await self._asked_anew(task, self._written_out(task)):
            # The book goes on with the short form, so that leads to what the answer is made of.
            return replace(task, score=written.score)
        return await self._asked_anew(task, await self._respelled(task)) or task

    async def _asked_anew(self, task: AnswerTask, question: str) -> AnswerTask | None:
        """What is found when the question is put so; None if it is no other, or refused, too."""
        if question == task.request.question:
            return None
        other = await self._consult(replace(task.request, question=question))
        return None if self._refuses(other) else other

    def _written_out(self, task: AnswerTask) -> str:
        question = task.request.question
        words = [one for one in short_words(question) if task.consulted.terms(one)]
        return written_out(question, words, [hit.chunk.text_content for hit in task.found.hits])

    async def _respelled(self, task: AnswerTask) -> str:
        question, terms = task.request.question, task.consulted.terms
        rare = [one for one in long_words(question) if self.count_tokens(f" {one}") > COMMON]
        words = {word: list(terms(word)) for word in rare}
        every = sorted({term for each in words.values() for term in each})
        missing = await self.ceilings.missing(every, task.scope.books)
        unknown = [word for word, each in words.items() if each and missing.issuperset(each)]
        return respelled(question, unknown, [hit.chunk.text_content for hit in task.found.hits])

    async def _consult(self, request: AskRequest) -> AnswerTask:
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
        return AnswerTask(
            request=request,
            scope=scope,
            found=found,
            consulted=Consulted(
                request.question,
                for_solving(context, request.solutions),
                weights,
                terms,
                self.split_sentences,
                language,
            ),
            exercise=exercise,
            solution=frozenset(
                passage.paragraph_id for one in solution for passage in one.passages
            ),
            likeness=partial(self.judge.likeness, language=language),
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

    async def _place(self, request: AskRequest) -> tuple[Place | None, SearchFilter]:
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

    def _refuses(self, task: AnswerTask) -> bool:
        """A generator may read what the words of the question do not lead to, as when it is asked
        in another language than the book's; so it is spared only what is surely foreign.
        """
        if not task.consulted.context or task.exercise:
            return not task.consulted.context
        if self.generator is None:
            return task.score < self.refusal_threshold
        same_language = guess_language(task.request.question, "") == task.consulted.language
        return same_language and task.score < self.generator_threshold
