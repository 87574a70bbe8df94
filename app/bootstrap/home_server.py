"""Finds a model server that already runs on this machine: Ollama, llama.cpp, LM Studio."""

import asyncio
import re
from dataclasses import dataclass

from app.domain.errors import ConfigError, ProviderError
from app.settings import Settings

PORTS = (11_434, 8_080, 1_234)
"""The usual ports of Ollama, llama.cpp and LM Studio."""
_SECONDS = 0.3
"""Time limit to connect: a port of this machine on which nobody listens refuses at once."""
_WRITES_NOTHING = re.compile(r"embed|rerank|bge-|minilm", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class HomeServer:
    base_url: str
    model: str


async def home_server(settings: Settings) -> HomeServer | None:
    """Return the first server on `PORTS` that has a model that writes; None if there is none.

    Its model is `RAG_OPENAI_MODEL` if it has that, else the first one it lists.
    """
    for port in PORTS:
        if port != settings.port and (models := await _models(port)):
            wanted = settings.openai_model
            model = wanted if wanted in models else models[0]
            return HomeServer(_address(port), model)
    return None


async def _models(port: int) -> list[str]:
    """Return the models of the server that write; none if it is no model server."""
    try:
        async with asyncio.timeout(_SECONDS):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:  # TimeoutError is one
        return []
    writer.close()
    # The import of an HTTP client takes a tenth of a second.
    from app.adapters.providers.openai_chat import listed_models, open_server  # noqa: PLC0415

    try:
        async with open_server(_address(port), None) as client:
            return [one for one in await listed_models(client) if not _WRITES_NOTHING.search(one)]
    except (ConfigError, ProviderError):
        return []


def _address(port: int) -> str:
    return f"http://127.0.0.1:{port}/v1"
