"""Answers requests for a part of the book: a chapter's summary, an exercise by number, a quiz."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

from app.domain.answer import Answer, AnswerMode, AnswerPassage, Source
from app.domain.answering.chapters import Chapter, page_of, summary, titled
from app.domain.answering.exercises import exercise_numbered, exercises
from app.domain.answering.extractive import whole
from app.domain.answering.follow_ups import Suggestion, suggestions
from app.domain.answering.intents import Here, Intent, IntentKind
from app.domain.answering.question_analysis import QuestionAnalysis
from app.domain.answering.request import AskRequest
from app.domain.answering.units import SplitSentences
from app.domain.chunking.chunk import Chunk
from app.domain.languages import Notices, notices
from app.domain.retrieval.context_assembly import context_of
from app.domain.retrieval.query import ContextPassage, Hit
from app.domain.terms import words
from app.services.book_scope import BookScope
from app.services.consultation import Consultation
from app.services.lexical import LexicalEncoder
from app.services.page_locator import PageLocator
from app.services.retrieve import RetrievalResult

QUIZ_QUESTIONS = 5
FOLLOWED_UP = 8
"""Number of chunks that follow-up questions are taken from."""
_LISTED = 40
"""Limit on the chapters named in a clarifying question."""


@dataclass(frozen=True, slots=True)
class ConsultChapters:
    places: PageLocator
    lexical: LexicalEncoder
    count_tokens: Callable[[str], int]
    split_sentences: SplitSentences
    context_tokens: int

    async def read(
        self, intent: Intent, request: AskRequest, scope: BookScope
    ) -> Consultation | Answer | AskRequest | None:
        """Return a context, a clarifying question, or another request to answer instead.

        An exercise becomes a request with its own text. None if the request is an ordinary
        question. Raises StorageError.
        """
        page, number = scope.page, intent.chapter
        books = scope.books.only((page.book,) if page else ()).named()
        every = [*chain.from_iterable([await self.places.chapters(one) for one in books])]
        if intent.title:
            found = titled(every, intent, self.lexical.terms)
            if not found:
                return replace(request, question=intent.title)
        elif isinstance(number, Here):
            found = [one for one in every if page and page.file in one.files]
        else:
            found = [one for one in every if one.number == number]
        if page and number is Here.PAGE and not intent.title:
            found = [page_of(one, page.file) for one in found]
        if len({one.book for one in found or every}) > 1:
            return _clarify(notices(intent.language).which_book, [one.title for one in books])
        held = found or (every if intent.section else [])
        parts = [part for one in held if (part := await self._chunks(one, scope))]
        if intent.exercise and isinstance(number, int):
            within, said = replace(request, filter=scope.filter), notices(intent.language)
            return self._exercise((number, intent.exercise), parts, within, said)
        if not parts:
            return _ask_which(intent, every) if every else None
        chunks = [*chain.from_iterable(parts)] if intent.section else parts[0]
        return self._of_part(chunks, intent, request, scope)

    async def _chunks(self, chapter: Chapter, scope: BookScope) -> list[Chunk]:
        """Return the chapter's chunks that are in the scope, in reading order."""
        files = scope.filter.files or chapter.files
        within = replace(scope.filter, books=(chapter.book,), files=files)
        found = await self.places.index.matching(within)
        held = [one for one in found if one.file in chapter.files]
        return sorted(held, key=lambda one: (one.position, one.chunk_index))

    def _exercise(
        self, label: tuple[int, int], parts: Sequence[list[Chunk]], asked: AskRequest, said: Notices
    ) -> Answer | AskRequest:
        for chunks in parts:
            passages = context_of(chunks, self.count_tokens)
            if exercise := exercise_numbered(passages, *label):
                within = replace(asked.filter, books=(chunks[0].book,))
                task = exercise.paragraph_id
                return replace(asked, question=exercise.text, filter=within, exercise=task)
        return _clarify(said.no_exercises)

    def _of_part(
        self, chunks: Sequence[Chunk], intent: Intent, request: AskRequest, scope: BookScope
    ) -> Consultation | Answer | None:
        """Return a context with the summary of these chunks, or their exercises, as the answer.

        A quiz on a chapter without exercises asks questions that its sections answer.
        """
        analysis = self._analysis(request.question, intent.language, chunks[0].language)
        passages = context_of(chunks, self.count_tokens)
        context: Sequence[ContextPassage]
        if intent.kind is IntentKind.QUIZ:
            context = exercises(passages)[:QUIZ_QUESTIONS]
            if not context:
                return _questions(chunks, analysis)
            prepared = whole(context)
        else:
            split, budget = self.split_sentences, self.context_tokens
            section, language = intent.section, analysis.language
            context, prepared = summary(passages, split, language, budget, section)
        if not prepared.text:
            return None
        shown = {one.passage.paragraph_id for one in context}
        hits = tuple(Hit(one, 1.0) for one in chunks if shown.intersection(one.paragraph_ids))
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

    def _analysis(self, question: str, asked_in: str, language: str) -> QuestionAnalysis:
        terms = partial(self.lexical.terms, language=language)
        said = frozenset(words(question))
        return QuestionAnalysis(
            terms, language, {}, words=said, asked_in=asked_in, own_terms=terms(question)
        )


def _questions(chunks: Sequence[Chunk], analysis: QuestionAnalysis) -> Answer:
    """Ask questions that the chunks answer, from beginning to end, one of a paragraph."""
    hits = [Hit(one, 1.0) for one in chunks]
    by_paragraph: dict[str, Suggestion] = {}
    for one in suggestions(frozenset(), hits, analysis.terms, analysis.asked_in):
        by_paragraph.setdefault(one.passage.paragraph_id, one)
    if not by_paragraph:
        return _clarify(notices(analysis.asked_in).no_exercises)
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
    question: str, choices: Sequence[str] = (), sources: tuple[Source, ...] = ()
) -> Answer:
    """Return a clarifying question: the book has no such chapter or exercise, or several."""
    text = question.format("; ".join(choices))
    return Answer(answer=text, mode=AnswerMode.CLARIFICATION, sources=sources)
