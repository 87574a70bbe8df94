"""Scores paragraphs for questions in another language than the book's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.domain.retrieval.query import Vector
from app.services.ports import Embedder
from app.services.similarity import embed_documents


@dataclass(frozen=True, slots=True)
class CrossLingualScorer:
    """Implements the `ParagraphScorer` port with a multilingual embedder.

    Scores are cosines, scaled so that the least similar paragraph has 0: models differ in the
    cosine of unrelated texts (0.7 in E5).
    """

    embedder: Embedder
    inner_products: Callable[[Vector, Sequence[Vector]], list[float]]

    def reads(self, asked_in: str, language: str) -> bool:
        return asked_in != language

    async def scores(self, question: str, paragraphs: Sequence[tuple[str, str]]) -> list[float]:
        vectors = await embed_documents(self.embedder, ["\n".join(one) for one in paragraphs])
        cosines = self.inner_products(await self.embedder.embed_query(question), vectors)
        lowest = min(cosines, default=0.0)
        return [(cosine - lowest) / max(1 - lowest, 1e-6) for cosine in cosines]
