"""Grounded answers by Cohere's chat API: paragraphs are documents, citations have their ids."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass

from app.adapters.providers.chat import (
    MAX_REWRITE_CHARACTERS,
    Chat,
    StreamReader,
    answer_estimate,
)
from app.adapters.providers.http import Event, Provider, field_of, text_of, usage_of
from app.domain.characters import well_formed
from app.domain.errors import ProviderError, ProviderUnavailable
from app.domain.generated_text.events import (
    GeneratedCitation,
    GeneratedText,
    GeneratorEvent,
)
from app.domain.generated_text.model_text import ModelText
from app.domain.prompts import (
    ANSWER_FROM_DOCUMENTS,
    MAX_ANSWER_TOKENS,
    MAX_QUESTION_TOKENS,
    answer_messages,
    rewrite_messages,
    visible,
)
from app.domain.retrieval.query import ContextPassage, Turn
from app.services.ports import GenerationRequest
from app.services.provider_calls import ProviderCalls

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CohereGenerator:
    """Implements the ports `Generator` and `QuestionRewriter`."""

    provider: Provider
    answering: ProviderCalls
    rewriting: ProviderCalls
    model: str
    first_seconds: float = 20.0
    """Time limit for the first event, retries included; after it the answer is extractive."""
    event_seconds: float = 30.0
    """Time limit for each event: an answer may take longer."""

    def generate(self, request: GenerationRequest) -> AsyncGenerator[GeneratorEvent, None]:
        documents = Documents(request.context)
        messages = answer_messages(ANSWER_FROM_DOCUMENTS, request.question, request.history)
        body = self._chat.body(
            self.model,
            messages,
            MAX_ANSWER_TOKENS,
            documents=documents.sent,
            # Command A supports the citation modes FAST and OFF only.
            citation_options={"mode": "FAST"},
        )
        reader = ChatReader(self.provider, documents, ModelText(), self.event_seconds)
        estimate = answer_estimate(request)
        return self._chat.answer(self.answering, estimate, self.first_seconds, body, reader)

    async def check(self) -> None:
        """Do nothing: a check would cost money."""

    async def rewrite(self, question: str, history: Sequence[Turn]) -> str:
        messages = rewrite_messages(question, history)
        body = self._chat.body(self.model, messages, MAX_QUESTION_TOKENS)
        text = ModelText(MAX_REWRITE_CHARACTERS)
        reader = ChatReader(self.provider, Documents(()), text, self.event_seconds)
        return await self._chat.rewritten(self.rewriting, question, history, body, reader)

    @property
    def _chat(self) -> Chat:
        return Chat(self.provider, "v2/chat")


class Documents:
    """The context as Cohere's documents, each with a unique id."""

    def __init__(self, context: Sequence[ContextPassage]) -> None:
        self.paragraph_ids: dict[str, str] = {}
        """Document id to paragraph id."""
        self.sent: list[dict[str, object]] = []
        for position, item in enumerate(context):
            passage = item.passage
            # A long paragraph may be here in several pieces. "#" does not occur in paragraph ids.
            first = passage.paragraph_id not in self.paragraph_ids
            name = passage.paragraph_id if first else f"{passage.paragraph_id}#{position}"
            self.paragraph_ids[name] = passage.paragraph_id
            title = visible(" > ".join(passage.heading_path))
            data = {"title": title, "text": visible(passage.text)}
            self.sent.append({"id": name, "data": data})


class ChatReader(StreamReader):
    """Reads Cohere's events: text, citations with offsets, one end."""

    def __init__(
        self, provider: Provider, documents: Documents, text: ModelText, seconds: float
    ) -> None:
        super().__init__(provider, text, seconds)
        self._documents = documents
        self._length = 0
        self._blocks: dict[int, int] = {}
        """Offsets of the content blocks in the whole text."""

    def feed(self, event: Event) -> Iterator[GeneratorEvent]:
        kind = event.get("type")
        if kind == "content-delta":
            self._blocks.setdefault(_offset(event, "index") or 0, self._length)
            # A block of the model's thinking has a field of its own.
            text = text_of(event, "delta", "message", "content", "text")
            for piece in self.text.feed(text):
                if isinstance(piece, GeneratedText):
                    self._length += len(piece.text)
                else:
                    self._length = 0
                yield piece
        elif kind == "citation-start":
            yield from self._citations(field_of(event, "delta", "message", "citations"))
        elif kind == "message-end":
            self._end(event.get("delta"))

    def _citations(self, citation: object) -> Iterator[GeneratedCitation]:
        """Yield the citation; not one of the model's thinking or plan, which is not shown.

        It may come before or after its text. Its offset is in characters of a content block.
        """
        of_text = field_of(citation, "type") in (None, "TEXT_CONTENT")
        paragraphs = self._cited_paragraphs(field_of(citation, "sources"))
        start = _offset(citation, "start")
        if of_text and paragraphs and start is not None:
            first = min(self._blocks.values(), default=0)
            block = self._blocks.get(_offset(citation, "content_index") or 0, first)
            words = well_formed(text_of(citation, "text"))
            yield GeneratedCitation(block + start, words, paragraphs)

    def _cited_paragraphs(self, sources: object) -> tuple[str, ...]:
        known = self._documents.paragraph_ids
        names = (
            text_of(source, "id")
            for source in (sources if isinstance(sources, list) else ())
            if text_of(source, "type") == "document"
        )
        return tuple(dict.fromkeys(known[name] for name in names if name in known))

    def _end(self, delta: object) -> None:
        reason = text_of(delta, "finish_reason") or "COMPLETE"
        if reason == "TIMEOUT":
            message = "Cohere could not answer: the generation took too long"
            raise ProviderUnavailable(message)
        if reason.startswith("ERROR"):
            error = well_formed(text_of(delta, "error")[:300])
            logger.warning("cohere.generation_failed", extra={"error": error})
            message = "Cohere could not answer: the generation failed"
            raise ProviderError(message)
        # The billed tokens or, if they are missing, the used ones.
        counts = field_of(delta, "usage", "billed_units") or field_of(delta, "usage", "tokens")
        self.usage = usage_of(field_of(counts, "input_tokens"), field_of(counts, "output_tokens"))
        self.reason, self.ended = reason, True


def _offset(value: object, name: str) -> int | None:
    found = field_of(value, name)
    return found if isinstance(found, int) else None
