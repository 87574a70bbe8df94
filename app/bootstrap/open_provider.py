"""Opens Cohere's client if the settings use it."""

from __future__ import annotations

from app.bootstrap.providers import CohereParts, Providers
from app.domain.errors import ConfigError


async def open_provider(providers: Providers) -> CohereParts | None:
    """Open Cohere's client if the settings use it. ConfigError if they need it without a key."""
    settings = providers.settings
    wanted = {settings.embedder, settings.generator, settings.reranker.replace("auto", "")}
    if settings.cohere_api_key is None:
        if "cohere" in wanted:
            message = "RAG_EMBEDDER, RAG_RERANKER or RAG_GENERATOR asks for cohere: set CO_API_KEY"
            raise ConfigError(message)
        return None
    if not wanted & {"auto", "cohere"}:
        return None
    # The import takes a third of a second, so it is delayed until the provider is used.
    from app.bootstrap.cohere import open_cohere  # noqa: PLC0415

    return await open_cohere(providers, settings.cohere_api_key.get_secret_value())
