"""Says which embedder, reranker, generator and index are used, why, and what would be better.

No call that costs money is made.
"""

from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass

from app.adapters.fastembed.models import EMBEDDER, RERANKER, download
from app.adapters.fastembed.reranker import FastembedReranker
from app.adapters.local_embedder import LocalEmbedder
from app.bootstrap.home_server import PORTS
from app.bootstrap.providers import Providers, fastembed_model
from app.bootstrap.storage import open_index
from app.domain.characters import counted
from app.domain.errors import RagError
from app.settings import Settings

_LOCAL = "scripts/setup local, then RAG_"


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
    found = {}
    async with AsyncExitStack() as stack:
        providers = Providers(settings, stack)
        for part in (_embedder, _reranker, _generator, _index):
            name = part.__name__.strip("_")
            try:
                found[name] = await part(providers)
            except RagError as error:
                found[name] = Finding("", str(error), "correct what the error names")
    return found


def download_models(settings: Settings, announce: Callable[[str], None]) -> None:
    """Download the local models that the settings name; if they name none, the usual ones."""
    embedder = fastembed_model(settings.embedder, EMBEDDER)
    reranker = fastembed_model(settings.reranker, RERANKER)
    for name in [*filter(None, (embedder, reranker))] or [EMBEDDER, RERANKER]:
        download(name, settings.models_folder, announce)


async def _embedder(providers: Providers) -> Finding:
    embedder, settings = await providers.embedder(), providers.settings
    static = isinstance(embedder, LocalEmbedder)
    return Finding(
        f"{embedder.space}, {embedder.dimension} dimensions",
        _why("RAG_EMBEDDER", settings.embedder, settings),
        f"{_LOCAL}EMBEDDER=fastembed and ingest again; or CO_API_KEY" if static else "",
    )


async def _reranker(providers: Providers) -> Finding:
    reranker, settings = await providers.reranker(), providers.settings
    why = _why("RAG_RERANKER", settings.reranker, settings)
    if reranker is None:
        return Finding("none, features rank the hits", why, f"{_LOCAL}RERANKER=fastembed")
    if isinstance(reranker, FastembedReranker):
        return Finding(f"fastembed:{reranker.name}", why)
    return Finding(settings.cohere_rerank_model, why)


async def _generator(providers: Providers) -> Finding:
    model, settings = await providers.language_model(), providers.settings
    why = _why("RAG_GENERATOR", settings.generator, settings)
    if settings.generator == "auto" and not settings.cohere_api_key:
        ports = f"the ports {', '.join(map(str, PORTS))} of this machine"
        found = f"found on {ports}; RAG_GENERATOR=extractive turns it off"
        why = found if model else f"no CO_API_KEY, no model server on {ports}"
    if model is None:
        better = "ollama pull llama3.1; or set CO_API_KEY"
        return Finding("extractive, the book's own sentences", why, better)
    await model.check()
    return Finding(model.model, why)


async def _index(providers: Providers) -> Finding:
    settings = providers.settings
    async with open_index(settings) as index:
        books, damaged = await index.books(), await index.damaged()
    better = "" if books else "textbook-rag ingest BOOK_DIR"
    with suppress(RagError):
        space = (await providers.embedder()).space
        if other := [one.book for one in books.named() if one.model != space]:
            better = f"ingest again, for vectors of this embedder: {', '.join(other)}"
    if damaged:
        better = f"textbook-rag verify: damaged {', '.join(damaged)}"
    used = f"{settings.qdrant_url or settings.home}, {counted(len(books), 'books')}"
    why = "QDRANT_URL is set" if settings.qdrant_url else "QDRANT_URL is not set: embedded"
    return Finding(used, why, better)


def _why(variable: str, value: str, settings: Settings) -> str:
    if value != "auto":
        return f"{variable}={value}"
    return "CO_API_KEY is set" if settings.cohere_api_key else "CO_API_KEY is not set"
