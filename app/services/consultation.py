"""Finds the context of an answer and scores its answerability."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.domain.answer import Confidence
from app.domain.answering.answerability import (
    Reading,
    RefusalPolicy,
    answerability,
    covered_share,
    defined_share,
    share_of_bounds,
)
from app.domain.answering.chapters import beginning, beginnings, named_sections, text_within
from app.domain.answering.exercises import Solutions, asked_exercise, explaining
from app.domain.answering.extractive import ExtractiveAnswer, answer_of, whole
from app.domain.answering.question_analysis import QuestionAnalysis
from app.domain.answering.request import AskRequest, page_preferred, selected_paragraph
from app.domain.chunking.chunk import Chunk, Passage
from app.domain.document import BlockKind
from app.domain.retrieval.context_assembly import context_of
from app.domain.retrieval.query import ContextPassage, Hit, SearchFilter, Vector
from app.services.book_scope import BookScope, scope_of
from app.services.page_locator import PageLocator
from app.services.recording import stage
from app.services.retrieve import RetrievalResult, Retrieve

SCORED_HITS = 8
"""Number of hits scored, even if the answer is made from fewer."""
_NOT_ANSWERING = frozenset({BlockKind.HEADING, BlockKind.EXERCISE})


@dataclass(frozen=True, slots=True)
class Consultation:
    """A question with its context."""

    request: AskRequest
    scope: BookScope
    found: RetrievalResult
    analysis: QuestionAnalysis
    compared: str = ""
    """The question with its earlier turns, as models compare it with paragraphs."""
    exercise: str = ""
    """Id of the exercise that the question repeats, or ""."""
    score: float = 0.0
    """Answerability score, 0 to 1: that of the hits or the relevance by a calibrated reranker."""
    scored: Confidence = Confidence.ANSWERED
    """Confidence by the score alone."""
    confidence: Confidence = Confidence.ANSWERED
    """Confidence by the score; ANSWERED for requests answered from the book's structure."""
    unmentioned: Sequence[str] = ()
    """The names and rare words of the question that no hit has."""
    searched_for: str = ""
    """The question with its misspelled words corrected; "" if none was."""
    context: Sequence[ContextPassage] = ()
    """The paragraphs for the answer, in reading order; empty for a refusal."""
    prepared: ExtractiveAnswer | None = None
    """An answer made of parts of the context: an exercise's solution, a section's beginning."""
    sides: Sequence[Sequence[ContextPassage]] = ()
    """The sections of the two things that the question compares."""
    verbatim: bool = False
    """Whether no model may write the answer."""


@dataclass(frozen=True, slots=True)
class ConsultBook:
    """Locate the page, analyse the question, retrieve, score answerability, assemble the context.

    The part of the analysis that needs the language of the hits follows the search.
    """

    retrieve: Retrieve
    places: PageLocator
    refusal_policy: RefusalPolicy
    context_tokens: int = 3_000
    """Token budget of the context."""

    async def read(self, request: AskRequest, scope: BookScope | None = None) -> Consultation:
        """Return the context for a question. Raises QuestionError and the errors of retrieval.

        `scope` as `PageLocator.located` returns it; by default it is looked up.

        Misspelled words are corrected before the search.
        """
        if scope is None:
            scope = await scope_of(self.places.index, request.filter, request.page_url)
            scope = await self.places.located(scope, request.page_url, request.scope)
        with stage("spelling"):
            vocabulary = self.retrieve.analysis.vocabulary
            spelled = await vocabulary.corrected(request.question, scope.books)
        read = await self._search(replace(request, question=spelled), scope)
        read = await self._scored(read)
        if spelled != request.question:
            read = replace(read, searched_for=spelled)
        refused = read.confidence is Confidence.NOT_IN_BOOK
        return read if refused else await self._with_context(read)

    async def _search(self, request: AskRequest, scope: BookScope) -> Consultation:
        searched = replace(request, k=max(request.k, SCORED_HITS), filter=scope.filter)
        asked = await self.retrieve.analysis.of_query(searched, scope.books)
        found = await self.retrieve.find(asked)
        with stage("analysis"):
            language = found.hits[0].chunk.language if found.hits else "en"
            analysis = await self.retrieve.analysis.of_answer(asked, language)
        compared = request.question if request.selection else asked.texts.question
        return Consultation(request, scope, found, analysis, compared)

    async def _scored(self, read: Consultation) -> Consultation:
        """Add the confidence that the hits answer; an exercise of the book is never refused.

        A model understands any language; an extractive answer needs the language of the book.
        """
        analysis, hits, policy = read.analysis, read.found.hits, self.refusal_policy
        relevance = read.found.relevance
        asked = asked_exercise(analysis.own_terms, hits, analysis.terms)
        unmentioned = self._unmentioned(analysis, hits)
        if relevance is not None:
            score = relevance
            scored = confidence = policy.of_relevance().confidence(score)
        else:
            with stage("answerability"):
                score = max([await self._score(one, hits) for one in analysis.readings])
            unrecognised = policy.model and not analysis.in_book_language
            other_language = unrecognised or analysis.asked_in != analysis.language
            scored = policy.confidence(score)
            named = not (unmentioned or analysis.by_similar_words)
            confidence = policy.confidence(score, other_language=other_language, named=named)
        return replace(
            read,
            exercise=read.request.exercise or asked,
            score=score,
            scored=scored,
            confidence=Confidence.ANSWERED if read.request.exercise or asked else confidence,
            unmentioned=unmentioned,
        )

    async def _score(self, reading: Reading, hits: Sequence[Hit]) -> float:
        """Return how likely the best hits of a search answer the question, 0 to 1.

        It does not depend on the embedder that searched.
        """
        near, bounds = hits[:SCORED_HITS], reading.bounds
        similar = await self._similarities(reading.vector, [hit.chunk for hit in near])
        known = [self.retrieve.terms_of(hit.chunk) for hit in near]
        found = [
            (cosine, share_of_bounds(hit.sparse_score or 0.0, bounds), defined_share(terms, bounds))
            for cosine, hit, terms in zip(similar, near, known, strict=True)
        ]
        return answerability(found, covered_share(bounds, known))

    async def _similarities(self, question: Vector, chunks: Sequence[Chunk]) -> list[float]:
        """Return for each chunk the cosine of its most similar paragraph; 0 without any."""
        if not chunks:
            return []
        texts = [[f"{chunk.section} {said.text}" for said in _answering(chunk)] for chunk in chunks]
        every = [text for of_chunk in texts for text in of_chunk]
        encoder = self.retrieve.analysis.similarity
        cosines = await encoder.similarities(question, every, chunks[0].language)
        return [max((cosines[text] for text in of_chunk), default=0.0) for of_chunk in texts]

    def _unmentioned(self, question: QuestionAnalysis, hits: Sequence[Hit]) -> list[str]:
        """Return the names and rare words of the question that no hit has, in order.

        A text about servers does not answer how to install "RStudio Server".
        """
        known = frozenset[int]().union(*(self.retrieve.terms_of(one.chunk).terms for one in hits))
        return [word for word, terms in question.rare.items() if terms - known]

    async def _with_context(self, read: Consultation) -> Consultation:
        """Rank the hits for the answer and assemble their paragraphs."""
        request, page = read.request, read.scope.page
        ranked: Sequence[Hit] = page_preferred(read.found.hits, page) if page else read.found.hits
        if read.exercise:
            ranked = explaining(ranked)
        hits = await self._with_selection(read, ranked[: request.k])
        solution: list[Chunk] = []
        if read.exercise and request.solutions is Solutions.SHOW:
            solution = await self.places.solution_of(read.exercise, read.scope.books)
        with stage("context"):
            context = self.retrieve.context(
                [*(Hit(one, 1.0) for one in solution), *hits], self.context_tokens
            )
        solving = frozenset(one.paragraph_id for chunk in solution for one in chunk.passages)
        if request.solutions is not Solutions.SHOW:
            context = tuple(one for one in context if one.passage.kind is not BlockKind.SOLUTION)
        solved = [one for one in context if one.passage.paragraph_id in solving]
        read = replace(read, context=context, prepared=whole(solved) if solved else None)
        return read if read.exercise or request.selection else await self._with_sections(read)

    async def _with_sections(self, read: Consultation) -> Consultation:
        """Add the sections that the question names by their headings: one, or two to compare."""
        sections = await self._named(read)
        if len(sections) == 1 and (begun := beginning(sections[0])):
            return replace(read, context=tuple(sections[0]), prepared=answer_of([begun]))
        if len(sections) < 2:
            return read
        held = {one.passage.paragraph_id for one in read.context}
        first = (part.source for one in beginnings(sections) for part in one.parts)
        added = (replace(one, score=0.0) for one in first if one.passage.paragraph_id not in held)
        return replace(read, context=(*read.context, *added), sides=sections)

    async def _named(self, read: Consultation) -> list[list[ContextPassage]]:
        """Return the text of the sections that the question names by their headings."""
        asked, analysis = read.request.question, read.analysis
        chunks = [hit.chunk for hit in read.found.hits]
        named = named_sections(asked, chunks, analysis.terms, analysis.language)
        texts = []
        for one in named:
            of_page = SearchFilter(books=(one.book,), files=(one.file,))
            page = context_of(await self.places.index.matching(of_page), self.retrieve.count_tokens)
            below = [at for at in page if at.passage.heading_path[: len(one.path)] == one.path]
            texts.append(text_within(below, self.context_tokens // len(named)))
        return [*filter(None, texts)]

    async def _with_selection(self, read: Consultation, hits: Sequence[Hit]) -> Sequence[Hit]:
        """Return the hits with the selected paragraph first."""
        selection = read.request.selection
        if selection is None:
            return hits
        named = await self.places.chunks_of(selection.paragraph_id, read.scope.books)
        return [*selected_paragraph(selection, named, hits), *hits]


def _answering(chunk: Chunk) -> list[Passage]:
    """Return the passages that can answer: all but headings, exercises and other sections'."""
    return [one for one in chunk.own_passages if one.kind not in _NOT_ANSWERING]
