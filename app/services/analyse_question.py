"""Analyses a question: the text that is searched for, its terms and its vectors.

Only this module encodes the texts of a question. Later steps compare the terms and vectors.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from app.domain.answering.answerability import Reading
from app.domain.answering.question_analysis import QuestionAnalysis, analyse, bare_question
from app.domain.errors import (
    EMPTY_QUESTION,
    IndexMismatch,
    ProviderError,
    QuestionError,
)
from app.domain.indexed_book import BookList, BookManifest
from app.domain.languages import language_of_words
from app.domain.retrieval.query import SearchQuery, SparseVector, Vector
from app.domain.retrieval.rescoring import QuestionTerms
from app.domain.retrieval.standalone import Standalone, blend, rewritten_by_model, standalone
from app.domain.search_text import search_text, without_context
from app.services.lexical import LexicalEncoder
from app.services.ports import Embedder, QuestionRewriter
from app.services.recording import degraded_by, stage
from app.services.similarity import SimilarityEncoder
from app.services.term_upper_bounds import TermUpperBounds
from app.services.vocabulary import BookVocabulary

MOST_TERMS = 64
"""Maximum number of terms of a long question used for rescoring, because each costs a search."""


@dataclass(frozen=True, slots=True)
class AnalysedQuery:
    query: SearchQuery
    texts: Standalone
    """The question, made standalone if there is a history, and the texts that are encoded, with
    cognates."""
    dense: Vector | None
    """None if the embedder failed."""
    sparse: Mapping[str, SparseVector]
    """BM25 terms by language of the books, without languages in which the texts have no terms."""
    books: BookList
    """The books in scope; each language has its own stems and stop words."""
    by_vector: bool = False
    """Whether only the vector is searched for: it finds what words of another language do not."""
    asked_in: str = "en"
    """Language of the question, an ISO 639-1 code."""
    degraded: tuple[str, ...] = ()
    """Steps that failed: "rewrite", "embedding", or "budget" for either."""


@dataclass(frozen=True, slots=True)
class AnalyseQuestion:
    embedder: Embedder
    lexical: LexicalEncoder
    bounds: TermUpperBounds
    similarity: SimilarityEncoder
    rewriter: QuestionRewriter | None = None
    """Rewrites a follow-up as a standalone question; if None, rules do (`standalone`)."""
    vocabulary: BookVocabulary | None = None
    """Finds cognates; None: a question in another language than the book's is searched unchanged.
    """
    multilingual: bool = False
    """Whether `embedder` has one vector space for all languages. Then a question in another
    language than the book's is searched by its vector alone."""

    async def of_query(self, query: SearchQuery, books: BookList) -> AnalysedQuery:
        """Return the terms and vectors to search for in these books.

        Raises QuestionError, IndexMismatch, StorageError. A provider's failure only degrades the
        result.
        """
        if not query.question.strip():
            raise QuestionError(EMPTY_QUESTION)
        for manifest in books.named():
            self._require_same_model(manifest)
        asked, degraded = await self._standalone(query, books.language)
        embedded, lexical = (
            search_text(text, books.language) for text in (asked.embedded, asked.lexical)
        )
        asked = replace(asked, embedded=embedded.text, lexical=lexical.text)
        language = language_of_words(lexical.words, books.language)
        foreign = language != books.language
        if foreign and not self.multilingual:
            asked = await self._with_cognates(asked, language, books)
        dense, failed = await self._embed(asked.embedded)
        by_vector = foreign and self.multilingual and dense is not None
        languages = () if by_vector else books.by_language
        terms = {one: await self._sparse(asked, one, books) for one in languages}
        sparse = {one: vector for one, vector in terms.items() if vector.indices}
        failures = (*degraded, *failed)
        return AnalysedQuery(query, asked, dense, sparse, books, by_vector, language, failures)

    async def of_answer(
        self, question: str, asked: AnalysedQuery, language: str, *, selected: bool = False
    ) -> QuestionAnalysis:
        """Analyse a question for hits in this language. Raises StorageError.

        `selected`: the searched text contains text that the reader selected, instead of earlier
        turns.
        """
        standalone, books = asked.texts.question, asked.books
        terms = partial(self.lexical.terms, language=language)
        readings = {standalone: await self._reading(standalone, language, books)}
        found = analyse(question, language, terms, readings[standalone].bounds)
        bare = bare_question(question, found.asked_in, language)
        asking = question if selected else without_context(question, language)
        for wording in (question, bare, asking):
            if wording not in readings:
                readings[wording] = await self._reading(wording, language, books)
        about = question if selected else standalone
        searched = search_text(asking, language).text
        return replace(
            found,
            searched=searched if terms(searched) else found.searched,
            readings=tuple(readings.values()),
            vector=readings[about].vector,
            compared=about,
        )

    async def for_rescoring(
        self, asked: AnalysedQuery, languages: Iterable[str]
    ) -> Mapping[str, QuestionTerms]:
        """Return the question by language, as chunks are compared with it. Raises StorageError."""
        text, ordered = asked.texts.lexical, self.lexical.ordered_terms
        found = {}
        for language in languages:
            terms = ordered(text, language)[:MOST_TERMS]
            absent = await self.bounds.missing(terms, asked.books)
            found[language] = QuestionTerms(
                terms,
                await self.bounds.of(terms, asked.books),
                self.lexical.definition_targets(text, language, absent),
                await self.similarity.question(asked.texts.embedded, language),
            )
        return found

    async def _reading(self, wording: str, language: str, books: BookList) -> Reading:
        """Return the terms and vector of a wording, as it is searched for."""
        text = search_text(wording, language).text
        bounds = await self.bounds.of(self.lexical.terms(text, language), books)
        return Reading(bounds, await self.similarity.question(text, language))

    def _require_same_model(self, manifest: BookManifest) -> None:
        ours = (self.embedder.space, self.embedder.dimension)
        if (manifest.model, manifest.dimension) != ours:
            message = (
                f"book {manifest.book!r} was indexed with {manifest.model} "
                f"({manifest.dimension} dimensions), but questions are embedded with {ours[0]} "
                f"({ours[1]}): choose that embedder again (RAG_EMBEDDER), or ingest the book anew"
            )
            raise IndexMismatch(message)

    async def _standalone(
        self, query: SearchQuery, language: str
    ) -> tuple[Standalone, tuple[str, ...]]:
        if not query.history:
            return Standalone(query.question, query.question, query.question), ()
        degraded: tuple[str, ...] = ()
        if self.rewriter is not None and query.rewrite:
            try:
                with stage("rewrite"):
                    rewritten = await self.rewriter.rewrite(query.question, query.history)
            except ProviderError as error:
                degraded = (degraded_by("rewrite", error),)
            else:
                return rewritten_by_model(rewritten, query.question), ()

        def count_terms(text: str) -> int:
            return len(self.lexical.terms(text, language))

        return standalone(query.question, query.history, count_terms, language), degraded

    async def _with_cognates(self, asked: Standalone, language: str, books: BookList) -> Standalone:
        if self.vocabulary is None:
            return asked
        with stage("cognates"):
            found = await self.vocabulary.cognates(asked.lexical, language, books)
        if not found:
            return asked
        embedded, lexical = (" ".join([one, *found]) for one in (asked.embedded, asked.lexical))
        return replace(asked, embedded=embedded, lexical=lexical)

    async def _embed(self, question: str) -> tuple[Vector | None, tuple[str, ...]]:
        try:
            with stage("embedding"):
                vector = await self.embedder.embed_query(question)
        except ProviderError as error:
            return None, (degraded_by("embedding", error),)
        return vector, ()

    async def _sparse(self, asked: Standalone, language: str, books: BookList) -> SparseVector:
        background = [
            (self.lexical.query_vector(turn, language), weight) for turn, weight in asked.background
        ]
        said = self.lexical.ordered_terms(asked.lexical, language)[:MOST_TERMS]
        absent = await self.bounds.missing(said, books)
        return blend(self.lexical.question_vector(asked.lexical, language, absent), background)
