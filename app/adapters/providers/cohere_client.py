"""Cohere: the client, relevance by its rerank models, grounded answers by its chat API.

In chat, paragraphs are documents, and citations have their ids.
"""

from __future__ import annotations

import asyncio
import importlib
import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING

from app.adapters.providers.chat import Body, ChatModel, Response
from app.adapters.providers.http import (
    Event,
    Provider,
    connect,
    field_of,
    text_of,
    tokens_of,
    usage_of,
)
from app.domain.characters import well_formed
from app.domain.cost import Units
from app.domain.errors import ProviderError
from app.domain.generated_text.model_text import GeneratedCitation, GeneratorEvent, ModelText
from app.domain.prompts import ANSWER_FROM_DOCUMENTS, answer_messages, visible
from app.domain.retrieval.query import ContextPassage
from app.services.ports import GenerationRequest
from app.services.provider_calls import ProviderCalls

if TYPE_CHECKING:
    from cohere import AsyncClientV2, V2RerankResponse
    from cohere.core import RequestOptions

COHERE = ("Cohere", "CO_API_KEY", "RAG_COHERE_BASE_URL")
NO_RETRIES: RequestOptions = {"max_retries": 0}
"""Options of every call: `Call.run` repeats it. The SDK's retries do not repeat a call after a
dropped connection or without an answer in time, and let a reader wait for up to a minute."""
_TEXTS_PER_SEARCH = 100
"""Maximum documents billed as one search (https://cohere.com/pricing)."""
_RERANK_SECONDS = 3.0
"""Time limit to rerank, retries included; after it the order of the search is kept."""


@dataclass(frozen=True, slots=True)
class CohereClient:
    sdk: AsyncClientV2
    """For embeddings and rankings."""
    provider: Provider
    """For chat: of a stream, the SDK leaves out events that it cannot read, and logs their text."""


@asynccontextmanager
async def open_client(api_key: str, base_url: str) -> AsyncIterator[CohereClient]:
    """Open the client; its connections close with the context.

    `base_url` has no path. It is always passed on: without it the SDK would use CO_API_URL.
    ConfigError if the key is not printable ASCII.
    """
    async with connect(*COHERE, base_url, api_key) as provider:
        # The import blocks for up to 0.7 s.
        await asyncio.to_thread(importlib.import_module, "cohere")
        from cohere import AsyncClientV2  # noqa: PLC0415
        from cohere.core import ApiError, ParsingError  # noqa: PLC0415

        address, http = base_url.rstrip("/"), provider.client
        sdk = AsyncClientV2(api_key.strip(), base_url=address, httpx_client=http)
        # The client has refused all statuses of an error: the SDK refuses only the JSON of a body.
        invalid = (*provider.invalid, ApiError, ParsingError)
        yield CohereClient(sdk, replace(provider, invalid=invalid))


def billed_by(response: object, unit: str) -> int | None:
    """Return the billed number of these units; None if the response does not say it."""
    units = getattr(getattr(response, "meta", None), "billed_units", None)
    return tokens_of(getattr(units, unit, None))


@dataclass(frozen=True, slots=True)
class CohereReranker:
    """Implements the `Reranker` port."""

    client: CohereClient
    calls: ProviderCalls
    count_tokens: Callable[[str], int]
    reads_paragraphs = False

    @property
    def calibrated(self) -> bool:
        """Whether the model has version 5 or later, by Cohere's documentation.

        Then tokens are billed, and searches before.
        """
        version = re.search(r"-v(\d+)", self.calls.model)
        return version is not None and int(version[1]) >= 5

    def reads(self, asked_in: str, language: str) -> bool:  # noqa: ARG002 - reads any language
        return True

    async def scores(self, question: str, texts: Sequence[str]) -> Sequence[float | None]:
        """Return the relevance of each text.

        The model reads only the first 4,096 tokens of a text, from version 4 on 32,768.
        """
        amount = self._amount(question, texts)
        async with self.calls.call(self._units(amount), _RERANK_SECONDS) as call:

            async def send() -> Sequence[float | None]:
                with self.client.provider.errors("rerank"):
                    response = await self.client.sdk.rerank(
                        model=self.calls.model,
                        query=visible(question),
                        documents=list(texts),
                        request_options=NO_RETRIES,
                    )
                    unit = "input_tokens" if self.calibrated else "search_units"
                    call.bill(self._units(billed_by(response, unit) or amount))
                    return _scores(response, len(texts))

            return await call.run(send)

    def _amount(self, question: str, texts: Sequence[str]) -> int:
        """Estimate what will be billed."""
        if not self.calibrated:
            return ceil(len(texts) / _TEXTS_PER_SEARCH)
        return len(texts) * self.count_tokens(question) + sum(map(self.count_tokens, texts))

    def _units(self, amount: int) -> Units:
        return Units(input_tokens=amount) if self.calibrated else Units(searches=amount)


def _scores(response: V2RerankResponse, count: int) -> Sequence[float | None]:
    # The SDK does not check types: a missing score is None.
    scores = {one.index: one.relevance_score for one in response.results}
    sound = all(at in range(count) and 0.0 <= score <= 1.0 for at, score in scores.items())
    if not (scores and sound):
        message = "Cohere could not rerank: its ranking is invalid"
        raise ProviderError(message)
    return [scores.get(at) for at in range(count)]


class CohereGenerator(ChatModel):
    path = "v2/chat"
    first_seconds = 20.0
    """Time limit for each event: an answer may take longer."""

    def prompt(self, request: GenerationRequest) -> tuple[Body, Response]:
        messages = answer_messages(ANSWER_FROM_DOCUMENTS, request.question, request.history)
        # Positions, since a long paragraph may be here in several pieces.
        documents = [
            {"id": str(at), "data": _document(one)} for at, one in enumerate(request.context)
        ]
        # Command A supports the citation modes FAST and OFF only.
        options = {"documents": documents, "citation_options": {"mode": "FAST"}}
        cited = [one.passage.paragraph_id for one in request.context]
        return self.body(messages) | options, Response(ModelText(), self.first_seconds, cited)

    def read(self, event: Event, response: Response) -> Iterator[GeneratorEvent]:
        kind = event.get("type")
        if kind == "content-delta":
            # A block of the model's thinking has a field of its own.
            yield from response.text.feed(text_of(event, "delta", "message", "content", "text"))
        elif kind == "citation-start":
            yield from _citations(field_of(event, "delta", "message", "citations"), response.cited)
        elif kind == "message-end":
            self._end(event.get("delta"), response)

    def _end(self, delta: object, response: Response) -> None:
        reason = text_of(delta, "finish_reason") or "COMPLETE"
        if reason.startswith(("ERROR", "TIMEOUT")):
            raise self.failed(text_of(delta, "error") or reason)
        # The billed tokens or, if they are missing, the used ones.
        counts = field_of(delta, "usage", "billed_units") or field_of(delta, "usage", "tokens")
        used = field_of(counts, "input_tokens"), field_of(counts, "output_tokens")
        response.usage = usage_of(*used)
        response.reason, response.ended = reason, True


def _document(one: ContextPassage) -> dict[str, str]:
    passage = one.passage
    return {"title": visible(" > ".join(passage.heading_path)), "text": visible(passage.text)}


def _citations(citation: object, paragraph_ids: Sequence[str]) -> Iterator[GeneratedCitation]:
    """Yield the citation; not one of the model's thinking or plan, which is not shown.

    It may come before or after its text.
    """
    of_text = field_of(citation, "type") in (None, "TEXT_CONTENT")
    start, sources = field_of(citation, "start"), field_of(citation, "sources")
    names = [text_of(one, "id") for one in (sources if isinstance(sources, list) else ())]
    known = {str(at): one for at, one in enumerate(paragraph_ids)}
    cited = tuple(dict.fromkeys(known[name] for name in names if name in known))
    if of_text and cited and isinstance(start, int):
        yield GeneratedCitation(start, well_formed(text_of(citation, "text")), cited)
