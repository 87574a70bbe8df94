"""Retrieves chunks: embed, dense and BM25 search, fuse, fetch, rerank."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace

from cachetools import LRUCache

from app.domain.book_id import BookId
from app.domain.errors import (
    EMPTY_QUESTION,
    NO_BOOKS,
    BookNotFound,
    IndexMismatch,
    ProviderError,
    QuestionError,
)
from app.domain.retrieval.context_assembly import assemble, edge_passages
from app.domain.retrieval.fusion import DENSE_WEIGHT, Fused, Fusion, fuse
from app.domain.retrieval.query import (
    Candidates,
    ContextPassage,
    Hit,
    ScoredId,
    SearchFilter,
    SearchMode,
    SearchQuery,
    SparseVector,
    Vector,
)
from app.domain.retrieval.standalone import Standalone, blend, rewritten_by_model, standalone
from app.services.book_scope import books_asked, degraded_books
from app.services.cognates import FindCognates
from app.services.feature_reranker import DEPTH, FeatureReranker
from app.services.lexical import question_vector
from app.services.ports import (
    BookManifest,
    Embedder,
    QuestionRewriter,
    Reranker,
    SparseEncoder,
    VectorIndex,
)
from app.services.provider_failures import degraded_by, require_vector
from app.services.recording import stage
from app.services.resilience import in_time

CANDIDATES = 50
"""Number of chunks taken from each list, and passed to the reranker."""

COMPLETED_HITS = 3
"""Number of best hits whose incomplete lists, tables and similar blocks are completed."""

_CACHED_SCORES = 10_000
"""Scores in the cache: follow-up questions repeat, since they are about terms and headings."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SearchResult:
    """`degraded` lists steps that failed: "rewrite", "embedding", "rerank", "budget" for any of
    them, and damaged books as in `degraded_books`.
    """

    hits: tuple[Hit, ...]
    question: str
    """The query: the question, made standalone if there is a history."""
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Retrieve:
    """The use case. `rerank_seconds` is the reranker's time budget."""

    embedder: Embedder
    sparse: SparseEncoder
    index: VectorIndex
    reranker: Reranker | None
    count_tokens: Callable[[str], int]
    rewriter: QuestionRewriter | None = None
    """Rewrites a follow-up as a standalone question; None: a rule does (`standalone`)."""
    feature_reranker: FeatureReranker | None = None
    """None: the fused order is kept. Only a hybrid search has a second stage."""
    cognates: FindCognates | None = None
    """None: a question in another language than the book's is searched unchanged."""
    fusion: Fusion = Fusion.WEIGHTED
    dense_weight: float = DENSE_WEIGHT
    rerank_seconds: float = 3.0
    _best: LRUCache[Hashable, float] = field(
        default_factory=lambda: LRUCache(_CACHED_SCORES), init=False, compare=False, repr=False
    )
    """Scores of `best_by_words`, by question, filter and generations."""

    async def search(self, query: SearchQuery) -> SearchResult:
        """Return up to `query.k` hits, best first.

        Raises QuestionError, BookNotFound (also when no book is indexed), IndexMismatch,
        StorageError; any ProviderError of the embedder in dense mode. Other failures of a provider
        only degrade the result.
        """
        if not query.question.strip():
            raise QuestionError(EMPTY_QUESTION)
        books = await self._in_scope(query.filter)
        asked, degraded = await self._standalone(query, books[0].language)
        asked = await self._with_cognates(asked, books)
        query = replace(query, question=asked.lexical)
        dense, failed = await self._embed(asked.embedded, query.mode)
        degraded += failed
        limit = max(CANDIDATES, query.k)
        with stage("search"):
            found = await self._candidates(query, asked, books, dense, limit)
            fused = fuse(found, self.fusion, self.dense_weight)
        reranker = self._reranker_for(query)
        hits = await self._look_closer(query, asked.embedded, fused, reranker)
        degraded += await degraded_books(self.index, query.filter.books)
        if reranker is None:
            return SearchResult(hits[: query.k], asked.question, tuple(dict.fromkeys(degraded)))
        hits, failed = await self._rerank(reranker, asked.question, query.k, hits)
        # A spent budget ends several steps and is named once.
        degraded = tuple(dict.fromkeys(degraded + failed))
        return SearchResult(hits[: query.k], asked.question, degraded)

    async def best_by_words(self, question: str, filter: SearchFilter) -> float:
        """Return the best BM25 score of a chunk; 0 if none has a term of the question.

        It calls no provider and reads no chunk; scores are cached. Raises BookNotFound,
        IndexMismatch, StorageError.
        """
        books = await self._in_scope(filter)
        generations = tuple((one.book, one.book_version, one.generation) for one in books)
        key = (question, filter, generations)
        score: float | None = self._best.get(key)
        if score is None:
            query = SearchQuery(question, mode=SearchMode.SPARSE, filter=filter)
            found = await self._candidates(query, Standalone.of(question), books, None, limit=1)
            score = self._best[key] = found.sparse[0].score if found.sparse else 0.0
        return score

    async def context(self, hits: Sequence[Hit], token_budget: int) -> tuple[ContextPassage, ...]:
        """Return the hits' paragraphs, each once, within the budget. Raises StorageError.

        Lists, tables and similar blocks of which the best hits have a part are completed if they
        fit.
        """
        best = sorted(hits, key=lambda hit: -hit.score)[:COMPLETED_HITS]
        parts = [(part, hit) for hit in best for part in edge_passages(hit.chunk)]
        found = await asyncio.gather(
            *(self.index.find_paragraph(part.paragraph_id, hit.chunk.book) for part, hit in parts)
        )
        wholes = [(one, hit) for one, (_, hit) in zip(found, parts, strict=True) if one]
        return assemble(hits, token_budget, self.count_tokens, wholes)

    async def _in_scope(self, filter: SearchFilter) -> Sequence[BookManifest]:
        books = await books_asked(self.index, filter.books)
        if not books:
            editions = ", ".join(await self.index.books())
            message = f"only editions are indexed: ask one of {editions}" if editions else NO_BOOKS
            raise BookNotFound(message)
        for manifest in books:
            self._require_same_model(manifest)
        return books

    def _require_same_model(self, manifest: BookManifest) -> None:
        ours = (self.embedder.model, self.embedder.dimension)
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
            return Standalone.of(query.question), ()
        degraded: tuple[str, ...] = ()
        if self.rewriter is not None and query.rewrite:
            try:
                with stage("rewrite"):
                    rewritten = await self.rewriter.rewrite(query.question, query.history)
            except ProviderError as error:
                degraded = (degraded_by(_log, "retrieve.rewrite_failed", "rewrite", error),)
            else:
                return rewritten_by_model(rewritten, query.question), ()

        def count_terms(text: str) -> int:
            return len(self.sparse.encode_query(text, language).indices)

        return standalone(query.question, query.history, count_terms, language), degraded

    async def _with_cognates(self, asked: Standalone, books: Sequence[BookManifest]) -> Standalone:
        with stage("cognates"):
            found = await self.cognates.of(asked.lexical, books) if self.cognates else ()
        if not found:
            return asked
        embedded, lexical = (" ".join([one, *found]) for one in (asked.embedded, asked.lexical))
        return replace(asked, embedded=embedded, lexical=lexical)

    async def _embed(
        self, question: str, mode: SearchMode
    ) -> tuple[Vector | None, tuple[str, ...]]:
        if mode is SearchMode.SPARSE:
            return None, ()
        try:
            with stage("embedding"):
                vector = await self.embedder.embed_query(question)
            require_vector(vector, self.embedder.model, self.embedder.dimension, "a question")
        except ProviderError as error:
            if mode is SearchMode.DENSE:
                raise
            failed = degraded_by(_log, "retrieve.embedding_failed", "embedding", error)
            return None, (failed,)
        return vector, ()

    async def _candidates(
        self,
        query: SearchQuery,
        asked: Standalone,
        books: Sequence[BookManifest],
        dense: Vector | None,
        limit: int,
    ) -> Candidates:
        """Search once per language, since a language has its own stems and stop words."""
        by_language: dict[str, list[BookId]] = {}
        for manifest in books:
            by_language.setdefault(manifest.language, []).append(manifest.book)
        found: list[Candidates] = []
        for language, ids in by_language.items():
            sparse = self._encode(query, asked, language)
            if dense is not None or sparse is not None:
                of_books = replace(query.filter, books=tuple(ids))
                found.append(await self.index.search(dense, sparse, limit, of_books))
        return Candidates(
            dense=_best([one.dense for one in found], limit),
            sparse=_best([one.sparse for one in found], limit),
        )

    def _encode(self, query: SearchQuery, asked: Standalone, language: str) -> SparseVector | None:
        if query.mode is SearchMode.DENSE:
            return None
        terms = blend(
            question_vector(query.question, language, self.sparse),
            [
                (self.sparse.encode_query(turn, language), weight)
                for turn, weight in asked.background
            ],
        )
        return terms if terms.indices else None

    def _reranker_for(self, query: SearchQuery) -> Reranker | None:
        """None also in sparse mode, which calls no provider."""
        return self.reranker if query.rerank and query.mode is not SearchMode.SPARSE else None

    async def _look_closer(
        self,
        query: SearchQuery,
        standalone: str,
        fused: Sequence[Fused],
        reranker: Reranker | None,
    ) -> tuple[Hit, ...]:
        """Fetch the chunks needed for k hits, reranked by the second stage."""
        feature_reranker = self.feature_reranker if query.mode is SearchMode.HYBRID else None
        wanted = max(query.k, CANDIDATES if reranker else DEPTH if feature_reranker else 0)
        with stage("fetch"):
            hits = await self._fetch(fused[:wanted])
        if feature_reranker is None:
            return hits
        with stage("rescoring"):
            return await feature_reranker.order(query, hits, standalone)

    async def _fetch(self, fused: Sequence[Fused]) -> tuple[Hit, ...]:
        by_book: dict[BookId, list[str]] = {}
        for one in fused:
            by_book.setdefault(one.book, []).append(one.chunk_id)
        found = await self.index.fetch_many(by_book)
        chunks = {(chunk.book, chunk.chunk_id): chunk for chunk in found}
        # A chunk may be gone: a new generation can be published between search and fetch.
        return tuple(
            Hit(chunks[one.book, one.chunk_id], one.score, one.dense, one.sparse)
            for one in fused
            if (one.book, one.chunk_id) in chunks
        )

    async def _rerank(
        self, reranker: Reranker, question: str, k: int, hits: tuple[Hit, ...]
    ) -> tuple[tuple[Hit, ...], tuple[str, ...]]:
        if not hits:
            return hits, ()
        texts = [hit.chunk.embedding_text for hit in hits]
        try:
            with stage("rerank"):
                work = reranker.rerank(question, texts, min(k, len(texts)))
                ranked = await in_time(work, self.rerank_seconds, "the reranker")
        except ProviderError as error:
            return hits, (degraded_by(_log, "retrieve.rerank_failed", "rerank", error),)
        return tuple(replace(hits[position], score=score) for position, score in ranked), ()


def _best(lists: Sequence[Sequence[ScoredId]], limit: int) -> tuple[ScoredId, ...]:
    if len(lists) == 1:
        return tuple(lists[0])
    merged = (one for found in lists for one in found)
    return tuple(sorted(merged, key=lambda one: (-one.score, one.book, one.chunk_id))[:limit])
