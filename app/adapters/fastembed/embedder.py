"""An embedder that fastembed runs: one text at a time, or texts within their document."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from app.adapters.fastembed.late_chunking import LateChunking, unit_vector
from app.adapters.fastembed.models import load_embedder
from app.domain.cost import Tariff
from app.domain.retrieval.query import Vector
from app.services.threads import in_thread

if TYPE_CHECKING:
    from fastembed import TextEmbedding

_TEXTS = 16
"""Texts between two reports of progress."""
_MULTILINGUAL = re.compile(r"multilingual|jina-embeddings-v3|embeddinggemma|qwen3", re.IGNORECASE)
_PREFIXES = (
    (re.compile(r"e5"), "query: ", "passage: "),
    (re.compile(r"nomic"), "search_query: ", "search_document: "),
    (re.compile(r"embeddinggemma"), "task: search result | query: ", "title: none | text: "),
    (re.compile(r"arctic|mxbai"), "Represent this sentence for searching relevant passages: ", ""),
)
"""What a model expects before a question and before a text, by its card on Hugging Face."""


class FastembedEmbedder:
    """Implements the `Embedder` port; some ten chunks a second on one core."""

    def __init__(self, model: TextEmbedding, name: str) -> None:
        self._model = model
        self.space = f"fastembed:{name}"
        self.dimension = model.embedding_size
        self.multilingual = bool(_MULTILINGUAL.search(name))
        """Whether questions and texts of all languages are near each other."""
        tokenizer = getattr(model.model, "tokenizer", None)
        cut = tokenizer.truncation if tokenizer else None
        self.tariff = Tariff(_TEXTS, tokens_per_text=cut["max_length"] if cut else None)
        self._question, self._text = next(
            ((question, text) for found, question, text in _PREFIXES if found.search(name)),
            ("", ""),
        )
        late = LateChunking.of(model)
        self.embed_in_context = late.embed if late else None
        """Embeds texts as one document; None for a model without token vectors."""

    @classmethod
    def load(cls, name: str, folder: Path) -> FastembedEmbedder:
        """Read the model from the folder of models. ConfigError if that fails."""
        return cls(load_embedder(name, folder), name)

    async def embed_batches(self, texts: Sequence[str]) -> AsyncGenerator[list[Vector], None]:
        """Yield the vectors of each finished batch."""
        for start in range(0, len(texts), _TEXTS):
            some = [f"{self._text}{text}" for text in texts[start : start + _TEXTS]]
            # Each alone: that is as fast, and a vector must not depend on the other texts.
            yield await asyncio.to_thread(_vectors, self._model.passage_embed, some)

    @in_thread
    def embed_query(self, text: str) -> Vector:
        (vector,) = _vectors(self._model.query_embed, [f"{self._question}{text}"])
        return vector


def _vectors(embed: Callable[..., Iterable[NDArray[Any]]], texts: Sequence[str]) -> list[Vector]:
    return [unit_vector(row) for row in embed(texts, batch_size=1)]
