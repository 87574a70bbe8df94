"""Opens a client of Cohere and builds the embedder, the generator and the reranker on it."""

from __future__ import annotations

from app.adapters.providers.cohere_chat import CohereGenerator
from app.adapters.providers.cohere_client import CohereClient, open_client
from app.adapters.providers.cohere_embedder import EMBED_LIMITS, CohereEmbedder, dimension_of
from app.adapters.providers.cohere_reranker import CohereReranker
from app.adapters.tokens import token_counter
from app.bootstrap.providers import CohereParts, Providers
from app.services.rate_limiter import RateLimiter


async def open_cohere(providers: Providers, key: str) -> CohereParts:
    settings = providers.settings
    client = await providers.stack.enter_async_context(open_client(key, settings.cohere_base_url))
    embeds, reranks, writes = (
        one in {"auto", "cohere"}
        for one in (settings.embedder, settings.reranker, settings.generator)
    )
    return CohereParts(
        embedder=_embedder(providers, client) if embeds else None,
        language_model=_generator(providers, client) if writes else None,
        reranker=_reranker(providers, client) if reranks else None,
    )


def _generator(providers: Providers, client: CohereClient) -> CohereGenerator:
    model = providers.settings.cohere_chat_model
    return CohereGenerator(client.provider, *providers.chat("Cohere's chat", model), model)


def _reranker(providers: Providers, client: CohereClient) -> CohereReranker:
    model = providers.settings.cohere_rerank_model
    calls = providers.calls("reranker", "Cohere's rerank", model)
    return CohereReranker(client, calls, token_counter(), model)


def _embedder(providers: Providers, client: CohereClient) -> CohereEmbedder:
    settings = providers.settings
    models = [one.strip() for one in settings.cohere_embed_model.split(",")]
    limiter = RateLimiter(EMBED_LIMITS[settings.cohere_tier])
    # Each model has its own price. The last of the two breakers is that of questions.
    documents, asking = (
        providers.calls("embedder", "Cohere's embed", one, limiter=limiter)
        for one in (models[0], models[-1])
    )
    return CohereEmbedder(
        client,
        documents,
        token_counter(),
        model=models[0],
        dimension=dimension_of(models[0]),
        asking=asking,
        question_model=models[-1],
    )
