"""Retrieves chunks: dense and BM25 search, fuse, fetch, rerank by features, then by a model."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from cachetools import LRUCache

from app.domain.answering.request import AskRequest, require_question
from app.domain.book_id import BookId
from app.domain.chunking.chunk import Chunk
from app.domain.document import BlockKind
from app.domain.errors import ProviderError
from app.domain.retrieval.chunk_terms import ChunkTerms, chunk_terms
from app.domain.retrieval.context_assembly import assemble
from app.domain.retrieval.query import Candidates, ContextPassage, Fused, Hit, fuse
from app.domain.retrieval.rescoring import QuestionTerms, RescoringWeights, rescore
from app.services.analyse_question import AnalysedQuery, AnalyseQuestion
from app.services.book_scope import degraded_books, scope_of
from app.services.ports import Reranker, VectorIndex
from app.services.recording import degraded_by, stage

CANDIDATES = 50
"""Number of chunks taken from each list, and passed to the reranker."""
RESCORED = 30
"""Number of chunks reranked by features; with 20 results are slightly worse, with 50 not better."""
_CACHED_CHUNKS = 5_000
"""Chunks whose terms are cached, about 30 MB."""


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
    _terms: LRUCache[tuple[str, str, str], ChunkTerms] = field(
        default_factory=lambda: LRUCache(_CACHED_CHUNKS), init=False, compare=False, repr=False
    )

    async def search(self, request: AskRequest) -> RetrievalResult:
        """Return up to `request.k` hits, best first, of the editions of the reader's page.

        Raises QuestionError, and as `scope_of` and `AnalyseQuestion.of_query` do.
        """
        require_question(request.question)
        scope = await scope_of(self.index, request.filter, request.page_url)
        request = replace(request, filter=scope.filter)
        return await self.find(await self.analysis.of_query(request, scope.books))

    async def find(self, asked: AnalysedQuery) -> RetrievalResult:
        """Return up to `k` hits, best first. Raises BookNotFound, StorageError."""
        request, reranker, relevance = asked.request, self.reranker, None
        hits = await self._rescored(asked, await self._found(asked))
        degraded = [*asked.degraded, *await degraded_books(self.index, request.filter.books)]
        if reranker and hits and reranker.reads(asked.asked_in, hits[0].chunk.language):
            try:
                with stage("rerank"):
                    hits = await _reranked(reranker, asked.texts.question, hits)
                relevance = hits[0].score if reranker.calibrated else None
            except ProviderError as error:
                degraded.append(degraded_by("rerank", error))
        # A spent budget may stop several steps, but is listed once.
        return RetrievalResult(hits[: request.k], tuple(dict.fromkeys(degraded)), relevance)

    def context(self, hits: Sequence[Hit], token_budget: int) -> tuple[ContextPassage, ...]:
        """Return the hits' paragraphs, each once, within the budget."""
        return assemble(hits, token_budget, self.count_tokens)

    def terms_of(self, chunk: Chunk) -> ChunkTerms:
        """The terms of a chunk, cached."""
        key = (chunk.book, chunk.book_version, chunk.chunk_id)
        found = self._terms.get(key)
        if found is None:
            found = self._terms[key] = chunk_terms(chunk, self.analysis.lexical.ordered_terms)
        return found

    async def _found(self, asked: AnalysedQuery) -> tuple[Hit, ...]:
        """Search and fetch: as many chunks as the reranking needs, at least k."""
        fused = await self._search(asked)
        hits = await self._fetch(fused)
        if len(hits) < len(fused):
            # The book was removed and ingested again, or ingested twice, after the search.
            hits = await self._fetch(await self._search(asked))
        return hits

    async def _search(self, asked: AnalysedQuery) -> list[Fused]:
        limit = max(CANDIDATES, asked.request.k)
        with stage("search"):
            found: list[Candidates] = []
            for language, books in asked.books.by_language.items():
                sparse = asked.sparse.get(language)
                if asked.dense is not None or sparse is not None:
                    of_books = replace(asked.request.filter, books=books)
                    found.append(await self.index.search(asked.dense, sparse, limit, of_books))
            wanted = max(CANDIDATES if self.reranker else RESCORED, asked.request.k)
            return fuse(Candidates.best(found, limit))[:wanted]

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

    async def _rescored(self, asked: AnalysedQuery, hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
        """Return the first `RESCORED` hits reranked by features, then the others in their order.

        The fused order is kept in a search by the vector alone.
        """
        near, far = hits[:RESCORED], hits[RESCORED:]
        if not (asked.terms and near):
            return hits
        with stage("rescoring"):
            first = next(iter(asked.terms.values()))
            question = {
                hit.chunk.language: asked.terms.get(hit.chunk.language, first) for hit in near
            }
            similar = await self._similar(question, near)
            terms = [self.terms_of(hit.chunk) for hit in near]
            rescored = rescore(near, terms, question, RescoringWeights(), similar)
        lowest = rescored[-1].score
        return (*rescored, *(replace(hit, score=min(hit.score, lowest)) for hit in far))

    async def _similar(
        self, question: Mapping[str, QuestionTerms], hits: Sequence[Hit]
    ) -> list[float]:
        """Return the cosine of the question and each hit's heading path; 0 without a path."""
        paths = [(hit.chunk.language, " ".join(hit.chunk.heading_path)) for hit in hits]
        cosines = {}
        for language, one in question.items():
            texts = sorted({path for spoken, path in paths if spoken == language and path})
            encoder = self.analysis.similarity
            cosines[language] = await encoder.similarities(one.vector, texts, language)
        return [cosines[language].get(path, 0.0) for language, path in paths]


async def _reranked(reranker: Reranker, question: str, hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """Return the hits by their best text, followed by those that were not read in time."""
    given = [
        (at, text)
        for at, hit in enumerate(hits)
        for text in _texts(hit, paragraphs=reranker.reads_paragraphs)
    ]
    scores = await reranker.scores(question, [text for _, text in given])
    best: dict[int, float] = {}
    for (at, _), score in zip(given, scores, strict=True):
        if score is not None:
            best[at] = max(score, best.get(at, 0.0))
    read = sorted(best, key=lambda at: (-best[at], at))
    lowest = min(best.values(), default=1.0)
    unread = [
        replace(one, score=min(one.score, lowest)) for at, one in enumerate(hits) if at not in best
    ]
    return (*(replace(hits[at], score=best[at]) for at in read), *unread)


def _texts(hit: Hit, *, paragraphs: bool) -> list[str]:
    """Return the texts of a hit that a reranker reads: its chunk, or its paragraphs."""
    if not paragraphs:
        return [hit.chunk.embedding_text]
    passages = hit.chunk.own_passages
    return [one.headed_text for one in passages if one.kind is not BlockKind.HEADING]
