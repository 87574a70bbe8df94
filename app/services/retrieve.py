"""Retrieves chunks: embed, dense and BM25 search, fuse, fetch, rerank."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from app.domain.book_id import BookId
from app.domain.document import BlockKind
from app.domain.errors import ProviderError
from app.domain.retrieval.context_assembly import assemble
from app.domain.retrieval.query import Candidates, ContextPassage, Fused, Hit, SearchQuery, fuse
from app.services.analyse_question import AnalysedQuery, AnalyseQuestion
from app.services.book_scope import degraded_books, scope_of
from app.services.feature_reranker import DEPTH, FeatureReranker
from app.services.ports import Reranker, VectorIndex
from app.services.recording import degraded_by, stage

CANDIDATES = 50
"""Number of chunks taken from each list, and passed to the reranker."""


@dataclass(frozen=True, slots=True)
class RetrievalResult:
    """`degraded` lists steps that failed: "rewrite", "embedding", "rerank", "budget" for any of
    them, and damaged books as in `degraded_books`.
    """

    hits: tuple[Hit, ...]
    degraded: tuple[str, ...] = ()
    relevance: float | None = None
    """Relevance of the best hit, 0 to 1, by a calibrated reranker; None if none has read the hits.
    """


@dataclass(frozen=True, slots=True)
class Retrieve:
    analysis: AnalyseQuestion
    index: VectorIndex
    reranker: Reranker | None
    """Limits its own time."""
    count_tokens: Callable[[str], int]
    feature_reranker: FeatureReranker | None = None
    """None: the fused order is kept, as in a search by vector alone."""

    async def search(self, query: SearchQuery, page_url: str = "") -> RetrievalResult:
        """Return up to `query.k` hits, best first, of the editions of the reader's page.

        Raises as `scope_of` and `AnalyseQuestion.of_query` do.
        """
        scope = await scope_of(self.index, query.filter, page_url)
        query = replace(query, filter=scope.filter)
        return await self.find(await self.analysis.of_query(query, scope.books))

    async def find(self, asked: AnalysedQuery) -> RetrievalResult:
        """Return up to `k` hits, best first. Raises BookNotFound, StorageError."""
        query, reranker, relevance = asked.query, self.reranker, None
        hits = await self._search_and_rescore(asked)
        degraded = [*asked.degraded, *await degraded_books(self.index, query.filter.books)]
        if reranker and hits and reranker.reads(asked.asked_in, hits[0].chunk.language):
            try:
                with stage("rerank"):
                    hits = await _reranked(reranker, asked.texts.question, hits)
                relevance = hits[0].score if reranker.calibrated else None
            except ProviderError as error:
                degraded.append(degraded_by("rerank", error))
        # A spent budget may stop several steps, but is listed once.
        return RetrievalResult(hits[: query.k], tuple(dict.fromkeys(degraded)), relevance)

    def context(self, hits: Sequence[Hit], token_budget: int) -> tuple[ContextPassage, ...]:
        """Return the hits' paragraphs, each once, within the budget."""
        return assemble(hits, token_budget, self.count_tokens)

    async def _search(self, asked: AnalysedQuery, wanted: int) -> list[Fused]:
        """Return the best `wanted` chunks of both lists."""
        limit = max(CANDIDATES, asked.query.k)
        with stage("search"):
            found: list[Candidates] = []
            for language, books in asked.books.by_language.items():
                sparse = asked.sparse.get(language)
                if asked.dense is not None or sparse is not None:
                    of_books = replace(asked.query.filter, books=books)
                    found.append(await self.index.search(asked.dense, sparse, limit, of_books))
            best = Candidates.best(found, limit)
            return fuse(best)[:wanted]

    async def _search_and_rescore(self, asked: AnalysedQuery) -> tuple[Hit, ...]:
        """Find and fetch the chunks needed for k hits, reranked by the second stage."""
        feature_reranker = self.feature_reranker if asked.terms else None
        wanted = CANDIDATES if self.reranker else DEPTH if feature_reranker else 0
        wanted = max(wanted, asked.query.k)
        fused = await self._search(asked, wanted)
        hits = await self._fetch(fused)
        if len(hits) < len(fused):
            # The book was removed and ingested again, or ingested twice, after the search.
            hits = await self._fetch(await self._search(asked, wanted))
        if feature_reranker is None:
            return hits
        with stage("rescoring"):
            first = next(iter(asked.terms.values()))
            languages = {hit.chunk.language for hit in hits[:DEPTH]}
            question = {one: asked.terms.get(one, first) for one in sorted(languages)}
            return await feature_reranker.order(question, hits)

    async def _fetch(self, fused: Sequence[Fused]) -> tuple[Hit, ...]:
        """Fetch chunks. Those of a generation that is gone since the search are left out."""
        by_book: dict[BookId, list[str]] = {}
        for one in fused:
            by_book.setdefault(one.book, []).append(one.chunk_id)
        with stage("fetch"):
            found = await self.index.fetch(by_book)
        chunks = {(chunk.book, chunk.chunk_id): chunk for chunk in found}
        return tuple(
            Hit(chunks[one.book, one.chunk_id], one.score, one.dense, one.sparse)
            for one in fused
            if (one.book, one.chunk_id) in chunks
        )


async def _reranked(reranker: Reranker, question: str, hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """Return the hits reranked, followed by those that were not read in time."""
    given = [
        (at, text)
        for at, hit in enumerate(hits)
        for text in _texts(hit, paragraphs=reranker.reads_paragraphs)
    ]
    best: dict[int, float] = {}
    for position, score in await reranker.rerank(question, [text for _, text in given]):
        best.setdefault(given[position][0], score)
    lowest = min(best.values(), default=1.0)
    unread = [at for at in range(len(hits)) if at not in best]
    scores = best | {at: min(hits[at].score, lowest) for at in unread}
    return tuple(replace(hits[at], score=score) for at, score in scores.items())


def _texts(hit: Hit, *, paragraphs: bool) -> list[str]:
    """Return the texts of a hit that a reranker reads: its chunk, or its paragraphs."""
    if not paragraphs:
        return [hit.chunk.embedding_text]
    return [
        "\n".join(filter(None, (" > ".join(one.heading_path), one.text)))
        for one in hit.chunk.own_passages
        if one.kind is not BlockKind.HEADING
    ]
