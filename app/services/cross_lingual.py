"""Scores paragraphs for questions in another language than the book's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from cachetools import LRUCache

from app.domain.retrieval.query import Vector
from app.services.ports import Embedder

_CACHED_PARAGRAPHS = 4_000
"""Paragraphs whose vectors are cached, about 10 MB at 384 dimensions."""


@dataclass(slots=True)
class CrossLingualScorer:
    """Implements the `ParagraphScorer` port with a multilingual embedder.

    Scores are cosines, scaled so that the least similar paragraph has 0: models differ in the
    cosine of unrelated texts (0.7 in E5).
    """

    embedder: Embedder
    inner_products: Callable[[Vector, Sequence[Vector]], list[float]]
    _known: LRUCache[tuple[str, str], Vector] = field(
        default_factory=lambda: LRUCache(_CACHED_PARAGRAPHS), init=False, compare=False, repr=False
    )

    def reads(self, asked_in: str, language: str) -> bool:
        return asked_in != language

    async def scores(self, question: str, paragraphs: Sequence[tuple[str, str]]) -> list[float]:
        # Before the first await: other questions may evict what is cached now.
        known = {one: self._known[one] for one in paragraphs if one in self._known}
        missing = [one for one in dict.fromkeys(paragraphs) if one not in known]
        found = await self.embedder.embed_documents(["\n".join(one) for one in missing])
        known.update(zip(missing, found, strict=True))
        self._known.update(known)
        asked = await self.embedder.embed_query(question)
        cosines = self.inner_products(asked, [known[one] for one in paragraphs])
        lowest = min(cosines, default=0.0)
        return [(cosine - lowest) / max(1 - lowest, 1e-6) for cosine in cosines]
