"""Answers requests for a part of the book: a chapter's summary, an exercise by number, a quiz."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

from app.domain.answer import Answer, AnswerMode, AnswerPassage, Source
from app.domain.answering.chapters import (
    Chapter,
    heading_numbered,
    is_below,
    opening,
    page_of,
    summary,
)
from app.domain.answering.exercises import exercise_numbered, exercises
from app.domain.answering.extractive import ExtractiveAnswer, whole
from app.domain.answering.follow_ups import Suggestion, suggestions
from app.domain.answering.intents import Here, Intent, IntentKind
from app.domain.answering.question_analysis import QuestionAnalysis
from app.domain.answering.request import AskRequest
from app.domain.answering.units import SplitSentences
from app.domain.chunking.chunk import Chunk
from app.domain.indexed_book import BookManifest
from app.domain.languages import notices
from app.domain.retrieval.context_assembly import context_of
from app.domain.retrieval.query import ContextPassage, Hit, SearchFilter
from app.domain.terms import Terms, words
from app.services.book_scope import BookScope
from app.services.consultation import Consultation, ConsultBook
from app.services.retrieve import RetrievalResult

QUIZ_QUESTIONS = 5
FOLLOWED_UP = 8
"""Number of chunks that follow-up questions are taken from."""
_LISTED = 40
"""Limit on the chapters named in a clarifying question."""


@dataclass(frozen=True, slots=True)
class ConsultChapters:
    """The use case."""

    consult: ConsultBook
    split_sentences: SplitSentences

    async def read(
        self, intent: Intent, request: AskRequest, scope: BookScope
    ) -> Consultation | Answer | AskRequest | None:
        """Return a context, a clarifying question, or another request to answer instead.

        An exercise becomes a request with its own text. None if the request is an ordinary
        question. Raises StorageError.
        """
        page, number = scope.page, intent.chapter
        books = scope.books.only((page.book,) if page else ()).named()
        every = [*chain.from_iterable([await self._chapters(one, scope) for one in books])]
        if isinstance(number, Here):
            found = [one for one in every if page and page.file in one.files]
        else:
            found = [one for one in every if one.number == number]
        if page and number is Here.PAGE:
            found = [page_of(one, page.file) for one in found]
        if len({one.book for one in found or every}) > 1:
            return _clarify(notices(intent.language).which_book, [one.title for one in books])
        if intent.kind is IntentKind.EXERCISE:
            return await self._exercise(intent, request, found, scope)
        if intent.section:
            return await self._of_section(found or every, intent, request, scope)
        if not found:
            return _ask_which(intent, every) if every else None
        return await self._of_chapter(found[0], intent, request, scope)

    async def _chapters(self, manifest: BookManifest, scope: BookScope) -> list[Chapter]:
        """Return the book's chapters with only the pages in scope."""
        chapters = await self.consult.places.chapters(manifest)
        within = replace(scope.filter, books=(manifest.book,))
        if within == SearchFilter(books=within.books):
            return chapters
        files = {one.file for one in await self.consult.places.index.matching(within)}
        kept = [tuple(page for page in one.pages if page.file in files) for one in chapters]
        return [
            replace(one, pages=pages) for one, pages in zip(chapters, kept, strict=True) if pages
        ]

    async def _exercise(
        self, intent: Intent, request: AskRequest, found: Sequence[Chapter], scope: BookScope
    ) -> Answer | AskRequest:
        for chapter in found:
            passages = context_of(await self._chunks(chapter), self.consult.retrieve.count_tokens)
            if exercise := exercise_numbered(passages, chapter.number or 0, intent.exercise):
                within = replace(scope.filter, books=(chapter.book,))
                task = exercise.paragraph_id
                return replace(request, question=exercise.text, filter=within, exercise=task)
        return _clarify(notices(intent.language).no_exercises)

    async def _of_section(
        self, chapters: Sequence[Chapter], intent: Intent, request: AskRequest, scope: BookScope
    ) -> Consultation | None:
        """Return a context with the opening of the section with this number as the answer."""
        every = [*chain.from_iterable([await self._chunks(one) for one in chapters])]
        heading = heading_numbered(intent.section)
        chunks = [one for one in every if any(is_below(held, heading) for held in one.passages)]
        passages = context_of(chunks, self.consult.retrieve.count_tokens)
        own = [one for one in passages if is_below(one.passage, heading)]
        context, prepared = opening(own, self.consult.context_tokens)
        if not prepared.text:
            return None
        return self._consultation(chunks, context, prepared, intent, request, scope)

    async def _of_chapter(
        self, chapter: Chapter, intent: Intent, request: AskRequest, scope: BookScope
    ) -> Consultation | Answer | None:
        """Return a context with the chapter's summary or its exercises as the prepared answer.

        A quiz on a chapter without exercises asks questions that its sections answer.
        """
        chunks = await self._chunks(chapter)
        passages = context_of(chunks, self.consult.retrieve.count_tokens)
        language, quizzes = chunks[0].language, intent.kind is IntentKind.QUIZ
        context: Sequence[ContextPassage]
        if quizzes:
            context = exercises(passages)[:QUIZ_QUESTIONS]
            if not context:
                return _questions(chunks, self._terms(language), intent)
            prepared = whole(context)
        else:
            budget = self.consult.context_tokens
            context, prepared = summary(passages, self.split_sentences, language, budget)
        if not prepared.text:
            return None
        return self._consultation(chunks, context, prepared, intent, request, scope)

    def _consultation(
        self,
        chunks: Sequence[Chunk],
        context: Sequence[ContextPassage],
        prepared: ExtractiveAnswer,
        intent: Intent,
        request: AskRequest,
        scope: BookScope,
    ) -> Consultation:
        """Return a consultation whose prepared answer quotes this context of these chunks."""
        language = chunks[0].language
        terms = self._terms(language)
        shown = {one.passage.paragraph_id for one in context}
        hits = tuple(Hit(one, 1.0) for one in chunks if shown.intersection(one.paragraph_ids))
        analysis = QuestionAnalysis(
            terms,
            language,
            {},
            words=frozenset(words(request.question)),
            asked_in=intent.language,
            own_terms=terms(request.question),
        )
        return Consultation(
            request,
            scope,
            RetrievalResult(hits[:FOLLOWED_UP]),
            analysis,
            score=1.0,
            context=context,
            prepared=prepared,
            verbatim=intent.kind is IntentKind.QUIZ,
        )

    def _terms(self, language: str) -> Terms:
        return partial(self.consult.retrieve.analysis.lexical.terms, language=language)

    async def _chunks(self, chapter: Chapter) -> list[Chunk]:
        files = SearchFilter(books=(chapter.book,), files=chapter.files)
        found = await self.consult.places.index.matching(files)
        return sorted(found, key=lambda one: (one.position, one.chunk_index))


def _questions(chunks: Sequence[Chunk], terms: Terms, intent: Intent) -> Answer:
    """Ask questions that the chunks answer, from beginning to end, one of a paragraph."""
    hits = [Hit(one, 1.0) for one in chunks]
    by_paragraph: dict[str, Suggestion] = {}
    for one in suggestions(frozenset(), hits, terms, intent.language):
        by_paragraph.setdefault(one.passage.paragraph_id, one)
    if not by_paragraph:
        return _clarify(notices(intent.language).no_exercises)
    asked, count = [*by_paragraph.values()], min(len(by_paragraph), QUIZ_QUESTIONS)
    spread = [asked[at * len(asked) // count] for at in range(count)]
    passages = tuple(
        AnswerPassage(
            paragraph_ids=(one.paragraph_id,),
            text=question,
            heading_path=one.heading_path,
            url=one.url,
            paragraph_id=one.paragraph_id,
            book=chunks[0].book,
        )
        for question, one in spread
    )
    text = "\n\n".join(one.text for one in passages)
    return Answer(text, AnswerMode.EXTRACTIVE, passages=passages)


def _ask_which(intent: Intent, chapters: Sequence[Chapter]) -> Answer:
    """Ask which of these chapters is meant; those without a number only if none has one."""
    numbered = [one for one in chapters if one.number is not None] or chapters
    sources = tuple(
        Source(page.paragraph_id, page.deep_link_url, one.name, page.heading_path, 0.0)
        for one in numbered[:_LISTED]
        for page in one.pages[:1]
    )
    names = [one.name for one in numbered]
    more = ["..."] if len(names) > _LISTED else []
    return _clarify(notices(intent.language).which_chapter, [*names[:_LISTED], *more], sources)


def _clarify(
    question: str,
    choices: Sequence[str] = (),
    sources: tuple[Source, ...] = (),
) -> Answer:
    """Return a clarifying question: the book has no such chapter or exercise, or several."""
    text = question.format("; ".join(choices))
    return Answer(answer=text, mode=AnswerMode.CLARIFICATION, sources=sources)
