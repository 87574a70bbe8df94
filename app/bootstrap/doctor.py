"""Says which embedder, reranker, generator and index are used, why, and what would be better.

No call that costs money is made.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TypeVar

from app.adapters.fastembed.reranker import FastembedReranker
from app.adapters.local_embedder import LocalEmbedder
from app.bootstrap.home_server import PORTS
from app.bootstrap.providers import LanguageModel, OwnEmbedder, Providers
from app.bootstrap.storage import open_index
from app.domain.errors import RagError
from app.services.ports import Reranker
from app.settings import Settings

T = TypeVar("T")

_LOCAL = "scripts/setup local, then RAG_"
_KEY_OR_SERVER = "ollama pull llama3.1; or set CO_API_KEY"


@dataclass(frozen=True, slots=True)
class Finding:
    """What is used for one part of the program."""

    used: str
    """"" if nothing can be used."""
    why: str
    """The setting that chose it, or the error."""
    better: str = ""
    """What to do for better answers; "" if nothing is better."""


async def diagnose(settings: Settings) -> Mapping[str, Finding]:
    """Return the finding of each part: "embedder", "reranker", "generator", "index"."""
    async with AsyncExitStack() as stack:
        providers = Providers.of(settings, stack)
        embedder, no_embedder = await _tried(providers.embedder())
        reranker, no_reranker = await _tried(providers.reranker())
        model, no_model = await _tried(providers.language_model())
        if model:
            _, no_model = await _tried(model.check())
        return {
            "embedder": _failed(no_embedder) or _embedder(settings, embedder),
            "reranker": _failed(no_reranker) or _reranker(settings, reranker),
            "generator": _failed(no_model) or _generator(settings, model),
            "index": await _index(settings, embedder),
        }


async def _tried(opening: Awaitable[T]) -> tuple[T | None, str]:
    """Return the result, or None and the error."""
    try:
        return await opening, ""
    except RagError as error:
        return None, str(error)


def _failed(fault: str) -> Finding | None:
    return Finding("", fault, "correct what the error names") if fault else None


def _embedder(settings: Settings, embedder: OwnEmbedder | None) -> Finding:
    used = f"{embedder.space}, {embedder.dimension} dimensions" if embedder else ""
    static = isinstance(embedder, LocalEmbedder)
    better = f"{_LOCAL}EMBEDDER=fastembed and ingest again; or CO_API_KEY" if static else ""
    return Finding(used, _why("RAG_EMBEDDER", settings.embedder, settings), better)


def _reranker(settings: Settings, reranker: Reranker | None) -> Finding:
    why = _why("RAG_RERANKER", settings.reranker, settings)
    if reranker is None:
        return Finding("none, features rank the hits", why, f"{_LOCAL}RERANKER=fastembed")
    if isinstance(reranker, FastembedReranker):
        return Finding(f"fastembed:{reranker.name}", why)
    return Finding(settings.cohere_rerank_model, why)


def _generator(settings: Settings, model: LanguageModel | None) -> Finding:
    why = _why("RAG_GENERATOR", settings.generator, settings)
    if settings.generator == "auto" and not settings.cohere_api_key:
        ports = f"the ports {', '.join(map(str, PORTS))} of this machine"
        found = f"found on {ports}; RAG_GENERATOR=extractive turns it off"
        why = found if model else f"no CO_API_KEY, no model server on {ports}"
    if model:
        return Finding(model.model, why)
    return Finding("extractive, the book's own sentences", why, _KEY_OR_SERVER)


def _why(variable: str, value: str, settings: Settings) -> str:
    if value != "auto":
        return f"{variable}={value}"
    return "CO_API_KEY is set" if settings.cohere_api_key else "CO_API_KEY is not set"


async def _index(settings: Settings, embedder: OwnEmbedder | None) -> Finding:
    why = "QDRANT_URL is set" if settings.qdrant_url else "QDRANT_URL is not set: embedded"
    async with open_index(settings) as index:
        books, fault = await _tried(index.books())
        damaged = [] if books is None else [*await index.damaged()]
    if books is None:
        return Finding("", fault, "start the server, or correct QDRANT_URL")
    other = [one.book for one in books.named() if embedder and one.model != embedder.space]
    better = "" if books else "textbook-rag ingest BOOK_DIR"
    if damaged:
        better = f"textbook-rag verify: damaged {', '.join(damaged)}"
    elif other:
        better = f"ingest again, for vectors of this embedder: {', '.join(other)}"
    return Finding(f"{settings.qdrant_url or settings.home}, {len(books)} books", why, better)
