"""Analyses a question: the text that is searched for, its words, its terms and its vectors.

Only this module encodes the texts of a question. Later steps compare the terms and vectors.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from app.domain.answering.answerability import Reading
from app.domain.answering.question_analysis import (
    QuestionAnalysis,
    asked_kinds,
    name_asked,
    term_weights,
)
from app.domain.answering.request import AskRequest
from app.domain.errors import IndexMismatch, ProviderError
from app.domain.indexed_book import BookList, BookManifest
from app.domain.languages import language_of_question, language_of_words
from app.domain.retrieval.query import SparseVector, Vector, blend
from app.domain.retrieval.rescoring import QuestionTerms
from app.domain.retrieval.standalone import (
    Standalone,
    rewritten_by_model,
    standalone,
    topic_of,
)
from app.domain.search_text import SearchText, bare_question, search_text, without_context
from app.domain.terms import Terms, words
from app.services.lexical import LexicalEncoder, TermUpperBounds
from app.services.ports import Embedder, QuestionRewriter
from app.services.recording import degraded_by, stage
from app.services.similarity import MODEL_LANGUAGE, SimilarityEncoder
from app.services.vocabulary import BookVocabulary, replace_words

_WORD = re.compile(r"(?<![\w'\u2019])[^\W_]*[^\W\d_][^\W_]*")
"""A word with a letter, and not the end of a contraction: "I'm"."""


@dataclass(frozen=True, slots=True)
class AnalysedQuery:
    request: AskRequest
    texts: Standalone
    """The question, made standalone if there is a history, and the texts that are encoded, with
    similar words."""
    dense: Vector | None
    """None if the embedder failed."""
    sparse: Mapping[str, SparseVector]
    """BM25 terms by language of the books, without languages in which the texts have no terms."""
    terms: Mapping[str, QuestionTerms]
    """What the chunks found are compared with, by language of the books. Empty if only the vector
    is searched for, because it finds what words of another language do not."""
    books: BookList
    """The books in scope; each language has its own stems and stop words."""
    asked_in: str = "en"
    """Language of the question, an ISO 639-1 code."""
    degraded: Sequence[str] = ()
    """Steps that failed: "rewrite", "embedding", or "budget" for either."""
    similar: Mapping[str, str] = field(default_factory=dict)
    """Words of the question that the books lack -> the most similar words of the books."""


@dataclass(frozen=True, slots=True)
class AnalyseQuestion:
    embedder: Embedder
    lexical: LexicalEncoder
    bounds: TermUpperBounds
    similarity: SimilarityEncoder
    vocabulary: BookVocabulary
    """Finds words of the book like those of a question, and rare words."""
    rewriter: QuestionRewriter | None = None
    """Rewrites a follow-up as a standalone question; if None, rules do (`standalone`)."""

    async def of_query(self, request: AskRequest, books: BookList) -> AnalysedQuery:
        """Return the terms and vectors to search for in these books.

        Raises IndexMismatch, StorageError. A provider's failure only degrades the result.
        """
        for manifest in books.named():
            self._require_same_model(manifest)
        degraded: list[str] = []
        asked = await self._standalone(request, books.language, degraded)
        embedded, lexical = (
            search_text(text, books.language) for text in (asked.embedded, asked.lexical)
        )
        asked = replace(asked, embedded=embedded.text, lexical=lexical.text)
        language = language_of_words(lexical.words, books.language)
        foreign = language != books.language
        similar: Mapping[str, str] = {}
        # English has few forms of a word that stemming does not join.
        in_english = books.language == language == MODEL_LANGUAGE
        if not (self.embedder.multilingual or in_english):
            with stage("similar words"):
                similar = await self.vocabulary.similar(asked.lexical, language, books)
            if foreign:  # its function words would count as rare words of the book
                bare = bare_question(asked.lexical, language, books.language).rstrip("?")
                asked = replace(asked, lexical=bare)
            asked = _with_similar_words(asked, similar)
        dense = await self._embed(asked.embedded, degraded)
        # A multilingual embedder finds what the words of another language cannot.
        by_vector = foreign and self.embedder.multilingual and dense is not None
        languages = () if by_vector else books.by_language
        terms = {one: await self._terms(asked, one, books) for one in languages}
        vectors = {one: self._sparse(asked, one, terms[one]) for one in languages}
        sparse = {one: vector for one, vector in vectors.items() if vector.indices}
        return AnalysedQuery(
            request, asked, dense, sparse, terms, books, language, degraded, similar
        )

    async def of_answer(self, asked: AnalysedQuery, language: str) -> QuestionAnalysis:
        """Analyse a question for hits in this language. Raises StorageError."""
        question, selected = asked.request.question, asked.request.selection is not None
        # With a selected text, the searched text contains that instead of earlier turns.
        whole, terms = asked.texts.question, partial(self.lexical.terms, language=language)
        own = search_text(question, language)
        asked_in = language_of_question(own.said, language)
        foreign = asked_in != language
        spoken = asked.texts.lexical if foreign and not selected else question
        bare = bare_question(spoken, asked_in, language)
        said = await self._held(words(bare), terms, asked.books) if foreign else own.words
        name = name_asked(said, terms, language)
        bare = bare if foreign else name or bare
        asking = question if selected else without_context(question, language)
        # A word that an English book lacks is rarely a form of one that it has.
        similar = asked.similar if language != MODEL_LANGUAGE else {}
        wordings = (whole, question, bare, asking, replace_words(question, similar))
        texts = {one: search_text(one, language) for one in wordings}
        readings = {
            one: await self._reading(text.text, language, asked.books)
            for one, text in texts.items()
        }
        own_terms = frozenset(readings[question].bounds)
        content = frozenset(readings[bare].bounds) or own_terms
        bounds = {**readings[whole].bounds, **readings[bare].bounds}
        in_english = asked_in == language == MODEL_LANGUAGE
        return QuestionAnalysis(
            terms,
            language,
            weights=term_weights(bounds, own_terms, terms(" ".join(said)) if foreign else content),
            definition=terms(name),
            asked_kinds=asked_kinds(own.said),
            words=frozenset(own.said),
            asked_in=asked_in,
            in_book_language=language_of_words(own.said, "") == language,
            own_terms=own_terms,
            rare=self._rare(texts[asking], terms) if in_english else {},
            readings=tuple(readings.values()),
            by_similar_words=foreign and not {*words(bare)} <= {*own.said},
            vector=readings[question if selected else whole].vector,
            read=_read_before(asked.request, own.text, terms, language),
        )

    def _rare(self, searched: SearchText, terms: Terms) -> dict[str, frozenset[int]]:
        """Return the names and rare words of a question, with their terms.

        The tokens that tell common words are those of English.
        """
        common, named = self.vocabulary.is_common, searched.names
        said = dict.fromkeys(_WORD.findall(searched.text))
        return {
            word: terms(word) for word in said if word.lower() in named or not common(word.lower())
        }

    async def _held(self, said: Sequence[str], terms: Terms, books: BookList) -> Sequence[str]:
        """Return those of the words that are in the books. Raises StorageError."""
        absent = await self.bounds.missing(terms(" ".join(said)), books)
        return [word for word in said if not terms(word) <= absent]

    async def _reading(self, wording: str, language: str, books: BookList) -> Reading:
        """Return the terms and vector of a text that is searched for."""
        bounds = await self.bounds.of(self.lexical.terms(wording, language), books)
        return Reading(bounds, await self.similarity.question(wording, language))

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
        self, request: AskRequest, language: str, degraded: list[str]
    ) -> Standalone:
        question, history, selection = request.question, request.history, request.selection
        question = selection.search_text(question) if selection else question
        if not history:
            return Standalone(question, question, question)
        if self.rewriter is not None and not selection:
            try:
                with stage("rewrite"):
                    rewritten = await self.rewriter.rewrite(question, history)
            except ProviderError as error:
                degraded.append(degraded_by("rewrite", error))
            else:
                return rewritten_by_model(rewritten, question)

        def count_terms(text: str) -> int:
            return len(self.lexical.terms(search_text(text, language).text, language))

        return standalone(question, history, count_terms, language)

    async def _embed(self, question: str, degraded: list[str]) -> Vector | None:
        try:
            with stage("embedding"):
                return await self.embedder.embed_query(question)
        except ProviderError as error:
            degraded.append(degraded_by("embedding", error))
            return None

    async def _terms(self, asked: Standalone, language: str, books: BookList) -> QuestionTerms:
        terms = self.lexical.question_terms(asked.lexical, language)
        absent = await self.bounds.missing(terms, books)
        return QuestionTerms(
            terms,
            await self.bounds.of(terms, books),
            self.lexical.definition_targets(asked.lexical, language, absent),
            await self.similarity.question(asked.embedded, language),
        )

    def _sparse(self, asked: Standalone, language: str, terms: QuestionTerms) -> SparseVector:
        background = [
            (self.lexical.query_vector(turn, language), weight) for turn, weight in asked.background
        ]
        own = self.lexical.question_vector(asked.lexical, language, terms.definition_targets)
        return blend(own, background)


def _with_similar_words(asked: Standalone, similar: Mapping[str, str]) -> Standalone:
    """Add words of the books to the texts that are encoded."""
    added = dict.fromkeys(similar.values())
    embedded, lexical = (" ".join([one, *added]) for one in (asked.embedded, asked.lexical))
    return replace(asked, embedded=embedded, lexical=lexical)


def _read_before(request: AskRequest, searched: str, terms: Terms, language: str) -> str:
    """Return the text that the reader has: the selected one; the last answer if the question only
    asks for more, such as "give me an example".
    """
    if request.selection:
        return request.selection.text
    answers = [one.content for one in request.history if one.role != "user"]
    return "".join(answers[-1:]) if not terms(topic_of(searched, language)) else ""
