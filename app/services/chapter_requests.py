"""Answers requests for a part of the book: a chapter's summary, an exercise by number, a quiz."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate, chain
from math import inf

from app.domain.answer import Answer, AnswerMode, Source
from app.domain.answering.chapter_answers import (
    asked_terms,
    first_sentences,
    leading,
    quoted,
    whole_blocks,
)
from app.domain.answering.chapters import (
    Chapter,
    chapters_of,
    outline,
    page_of,
    summary_sections,
)
from app.domain.answering.exercises import exercise_numbered, exercises
from app.domain.answering.extractive import ExtractiveAnswer
from app.domain.answering.notices import (
    NO_EXERCISES,
    WHAT_IS,
    WHICH_BOOK,
    WHICH_CHAPTER,
    in_language,
)
from app.domain.answering.part_requests import Here, Intent, IntentKind
from app.domain.answering.question_analysis import analyse
from app.domain.answering.request import AskRequest, PageLocation
from app.domain.answering.units import SplitSentences
from app.domain.chunking.chunk import Chunk
from app.domain.indexed_book import BookManifest
from app.domain.links import page_key
from app.domain.retrieval.context_assembly import context_of
from app.domain.retrieval.query import ContextPassage, Hit, SearchFilter
from app.domain.search_text import SearchText
from app.domain.terms import words
from app.services.book_cache import BookCache
from app.services.book_scope import BookScope
from app.services.consultation import Consultation, ConsultBook
from app.services.page_glossary import LookUpTerms
from app.services.ports import VectorIndex
from app.services.retrieve import RetrievalResult

QUIZ_QUESTIONS = 5
FOLLOWED_UP = 8
"""Number of chunks that follow-up questions are taken from."""
_CACHED_BOOKS = 50
_LISTED = 40
"""Limit on the chapters named in a clarifying question."""


@dataclass(slots=True)
class ConsultChapters:
    """The use case. A book's chapters are read once for each generation."""

    index: VectorIndex
    consult: ConsultBook
    glossary: LookUpTerms
    split_sentences: SplitSentences
    count_tokens: Callable[[str], int]
    _contents: BookCache[list[Chapter]] = field(
        default_factory=lambda: BookCache(_CACHED_BOOKS), init=False
    )

    async def read(
        self, intent: Intent, request: AskRequest, scope: BookScope
    ) -> Consultation | Answer | AskRequest | None:
        """Return a context, a clarifying question, or another request to answer instead.

        An exercise becomes a request with its own text. None if the request is an ordinary
        question.

        Raises StorageError.
        """
        page = scope.page
        books = scope.books.only((page.book,) if page else ()).named()
        contents = [_within(await self._chapters_of(one), scope.filter) for one in books]
        every = list(chain.from_iterable(contents))
        if isinstance(intent.chapter, Here):
            found = _at_page(page, intent.chapter, every)
        else:
            found = [one for one in every if one.number == intent.chapter]
        if len({one.book for one in found or every}) > 1:
            return _clarify(WHICH_BOOK, intent, [one.title for one in books])
        if intent.kind is IntentKind.EXERCISE:
            return await self._exercise(intent, request, found, scope)
        if not found:
            return _ask_which(intent, every) if every else None
        return await self._of_chapter(found[0], intent, request, scope)

    async def _chapters_of(self, manifest: BookManifest) -> list[Chapter]:
        async def make() -> list[Chapter]:
            return chapters_of(await self.index.matching(SearchFilter(books=(manifest.book,))))

        return await self._contents.get(manifest, make)

    async def _exercise(
        self, intent: Intent, request: AskRequest, found: Sequence[Chapter], scope: BookScope
    ) -> Answer | AskRequest:
        for chapter in found:
            passages = context_of(await self._chunks(chapter), self.count_tokens)
            if exercise := exercise_numbered(passages, chapter.number or 0, intent.exercise):
                within = replace(scope.filter, books=(chapter.book,))
                task = exercise.paragraph_id
                return replace(request, question=exercise.text, filter=within, exercise=task)
        return _clarify(NO_EXERCISES, intent)

    async def _of_chapter(
        self, chapter: Chapter, intent: Intent, request: AskRequest, scope: BookScope
    ) -> Consultation | Answer | None:
        """Return a context with the chapter's summary or a quiz as its prepared answer."""
        chunks = await self._chunks(chapter)
        passages = context_of(chunks, self.count_tokens)
        quiz = intent.kind is IntentKind.QUIZ
        if quiz:
            context, prepared = await self._quiz(chapter, passages, intent.language, scope)
        else:
            context, prepared = self._summary(passages, chapter.language)
        if not prepared.text:
            return _clarify(NO_EXERCISES, intent) if quiz else None
        shown = {one.passage.paragraph_id for one in context}
        hits = tuple(Hit(one, 1.0) for one in chunks if shown.intersection(one.paragraph_ids))
        said, language = tuple(words(request.question)), chapter.language
        terms = partial(self.consult.retrieve.analysis.lexical.terms, language=language)
        text = SearchText(request.question, said)
        return Consultation(
            request,
            scope,
            RetrievalResult(hits),
            hits[:FOLLOWED_UP],
            analyse(request.question, text, request.question, language, said, terms, {}),
            score=1.0,
            context=context,
            prepared=prepared,
            verbatim=quiz,
        )

    def _summary(
        self, passages: Sequence[ContextPassage], language: str
    ) -> tuple[Sequence[ContextPassage], ExtractiveAnswer]:
        """Return the chapter's own summary, else an outline."""
        if own := [self._budgeted(one) for one in summary_sections(passages)]:
            context, excerpts = [*chain.from_iterable(own)], leading(own)
        else:
            sections = outline(passages)
            context = [*chain.from_iterable(sections)]
            excerpts = first_sentences(sections, self.split_sentences, language)
        return context, quoted(excerpts, context)

    async def _quiz(
        self,
        chapter: Chapter,
        passages: Sequence[ContextPassage],
        language: str,
        scope: BookScope,
    ) -> tuple[Sequence[ContextPassage], ExtractiveAnswer]:
        """Return the first exercises; without any, questions for glossary terms."""
        if context := exercises(passages)[:QUIZ_QUESTIONS]:
            return context, quoted(whole_blocks(context), context)
        entries = await self._terms(chapter, scope.books[chapter.book])
        return entries, asked_terms(entries, in_language(WHAT_IS, language))

    async def _terms(self, chapter: Chapter, manifest: BookManifest) -> list[ContextPassage]:
        """Return the glossary entries of the first terms that the chapter uses."""
        ids: dict[str, None] = {}
        for page in chapter.pages:
            terms = await self.glossary.in_book(page_key(page.deep_link_url), manifest)
            ids |= dict.fromkeys(one.entry.paragraph_id for one in terms or ())
        used = tuple(ids)[:QUIZ_QUESTIONS]
        wanted = SearchFilter(books=(chapter.book,), paragraph_ids=used)
        held = context_of(await self.index.matching(wanted) if used else (), self.count_tokens)
        return [one for one in held if one.passage.paragraph_id in used]

    async def _chunks(self, chapter: Chapter) -> list[Chunk]:
        files = SearchFilter(books=(chapter.book,), files=chapter.files)
        return await self.index.matching(files)

    def _budgeted(self, section: Sequence[ContextPassage]) -> list[ContextPassage]:
        """Return the blocks at the start of a section that fit the token budget; at least one."""
        totals = accumulate(one.tokens for one in section)
        fitting = sum(total <= self.consult.context_tokens for total in totals)
        return list(section[: max(fitting, 1)])


def _at_page(page: PageLocation | None, here: Here, chapters: Sequence[Chapter]) -> list[Chapter]:
    """Return the chapter of the reader's page, or the page alone; empty if it is unknown."""
    if page is None:
        return []
    found = [one for one in chapters if page.file in one.files]
    return [page_of(one, page.file) for one in found] if here is Here.PAGE else found


def _within(chapters: Iterable[Chapter], scope: SearchFilter) -> list[Chapter]:
    """Return the chapters with only the pages that the scope allows."""
    allowed = [replace(one, pages=tuple(_allowed(one.pages, scope))) for one in chapters]
    return [one for one in allowed if one.pages]


def _allowed(pages: Iterable[Chunk], scope: SearchFilter) -> Iterator[Chunk]:
    last = inf if scope.max_position is None else scope.max_position
    for page in pages:
        of_scope = not scope.files or page.file in scope.files
        of_chapters = page.chapter in (scope.chapters or (page.chapter,))
        if of_scope and of_chapters and page.position <= last:
            yield page


def _ask_which(intent: Intent, chapters: Sequence[Chapter]) -> Answer:
    """Ask which of these chapters is meant; those without a number only if none has one."""
    numbered = [one for one in chapters if one.number is not None] or chapters
    listed = numbered[:_LISTED]
    sources = tuple(
        Source(page.paragraph_id, page.deep_link_url, one.name, page.heading_path, 0.0)
        for one in listed
        for page in one.pages[:1]
    )
    more = ["..."] if len(listed) < len(numbered) else []
    return _clarify(WHICH_CHAPTER, intent, [*(one.name for one in listed), *more], sources)


def _clarify(
    question: Mapping[str, str],
    intent: Intent,
    choices: Sequence[str] = (),
    sources: tuple[Source, ...] = (),
) -> Answer:
    """Return a clarifying question: the book has no such chapter or exercise, or several."""
    text = in_language(question, intent.language).format("; ".join(choices))
    return Answer(answer=text, mode=AnswerMode.CLARIFICATION, sources=sources)
