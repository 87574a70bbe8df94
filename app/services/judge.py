"""Judge whether what a search found answers the question, whatever embedder searched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from operator import mul

from app.domain.answering.refusal import Evidence, best_phrases, best_share
from app.domain.chunking.chunk import Chunk
from app.domain.document import BlockKind
from app.domain.retrieval.chunk_terms import ChunkTerms
from app.domain.retrieval.query import Hit, Vector
from app.services.ports import Embedder
from app.services.term_ceilings import TermCeilings

JUDGED_HITS = 8
"""Hits that answerability is judged by, even if the answer is made from fewer."""

_REMEMBERED = 4_000
"""Chunks whose paragraphs' vectors are kept, about 20 MB."""
_ASKS_ITSELF = frozenset({BlockKind.HEADING, BlockKind.EXERCISE})


@dataclass(frozen=True, slots=True)
class JudgeAnswerability:
    embedder: Embedder
    """The local model, even where another one searches: cosines of two models do not compare."""
    ceilings: TermCeilings
    chunk_terms: Callable[[Chunk], ChunkTerms]
    _known: dict[tuple[str, str, str], Sequence[Vector]] = field(
        default_factory=dict, compare=False
    )

    async def evidence(
        self, question: str, hits: Sequence[Hit], books: Sequence[str] = ()
    ) -> Evidence:
        """Weigh the best hits of a search in these books, or in all. Raises StorageError."""
        near = hits[:JUDGED_HITS]
        language = near[0].chunk.language if near else "en"
        asked = self.ceilings.ordered_terms(question, language)
        ceilings = await self.ceilings.of(self.ceilings.terms(question, language), books)
        return Evidence(
            likeness=await self._likeness(question, [hit.chunk for hit in near]),
            share=best_share(near, ceilings),
            phrases=best_phrases(asked, [self.chunk_terms(hit.chunk) for hit in near], ceilings),
            chunks=await self.ceilings.chunks(books),
        )

    async def _likeness(self, question: str, chunks: Sequence[Chunk]) -> float:
        """The greatest cosine between the question and a paragraph; 0 when there is none."""
        asked = await self.embedder.embed_query(question)
        vectors = chain.from_iterable(await self._vectors(chunks))
        return max((sum(map(mul, asked, vector)) for vector in vectors), default=0.0)

    async def _vectors(self, chunks: Sequence[Chunk]) -> list[Sequence[Vector]]:
        """The vectors of each chunk's paragraphs, remembered."""
        keys = [(chunk.book, chunk.book_version, chunk.chunk_id) for chunk in chunks]
        found = {key: self._known[key] for key in keys if key in self._known}
        texts = {
            key: [one.text for one in chunk.passages if one.kind not in _ASKS_ITSELF]
            for key, chunk in zip(keys, chunks, strict=True)
            if key not in found
        }
        if texts:
            fresh = iter(
                await self.embedder.embed_documents([*chain.from_iterable(texts.values())])
            )
            found |= {key: [*islice(fresh, len(of_chunk))] for key, of_chunk in texts.items()}
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known.update(found)
        return [found[key] for key in keys]
