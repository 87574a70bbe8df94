"""A plain service as a baseline: FastAPI, LangChain, qdrant-client in memory.

Run by `load.py` (`RAG_PORT`, `PLAIN_BOOK`): the same local model, recursive chunks of 1,000
characters with 200 of overlap, only dense search, as in tutorials.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from langchain_core.embeddings import Embeddings
from langchain_qdrant import QdrantVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter
from pydantic import BaseModel

from app.adapters.local_embedder import LocalEmbedder
from app.domain.retrieval.query import Vector


class StaticModel(Embeddings):
    def __init__(self) -> None:
        self._model = LocalEmbedder.load()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [list(one) for one in asyncio.run(self._model.embed_documents(texts))]

    def embed_query(self, text: str) -> list[float]:
        return list(asyncio.run(_waited(self._model, text)))


async def _waited(model: LocalEmbedder, text: str) -> Vector:
    return await model.embed_query(text)


class Question(BaseModel):
    question: str
    k: int = 5


def service(book: Path) -> FastAPI:
    splitter = RecursiveCharacterTextSplitter(chunk_size=1_000, chunk_overlap=200)
    pages = [path.read_text("utf-8") for path in sorted(book.rglob("*.md*"))]
    chunks = splitter.create_documents(pages)
    store = QdrantVectorStore.from_documents(chunks, StaticModel(), location=":memory:")
    app = FastAPI()

    @app.post("/search")
    def search(asked: Question) -> list[dict[str, object]]:
        found = store.similarity_search_with_score(asked.question, k=asked.k)
        return [{"text": one.page_content, "score": score} for one, score in found]

    @app.get("/ready")
    def ready() -> int:
        return len(chunks)

    return app


if __name__ == "__main__":
    folder = Path(os.environ["PLAIN_BOOK"])
    uvicorn.run(service(folder), port=int(os.environ["RAG_PORT"]), log_level="warning")
