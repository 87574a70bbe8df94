"""Converts Cohere's chat events to those of the port: text, citations with offsets, one end."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.domain.answer import Usage
from app.domain.errors import ProviderError, ProviderUnavailable
from app.domain.prompts import NoAnswerDetector, visible
from app.domain.retrieval.query import ContextPassage
from app.services.generators import GeneratedCitation, GeneratedText, GeneratorEvent
from app.services.provider_stream import generated_end

if TYPE_CHECKING:
    from cohere import Citation, CitationStartEventDelta, Document, V2ChatStreamResponse
    from cohere import Usage as CohereUsage
    from cohere.types.chat_message_end_event_delta import ChatMessageEndEventDelta

logger = logging.getLogger(__name__)


class DocumentSet:
    """The context as Cohere's documents, each with a unique id."""

    def __init__(self, context: Sequence[ContextPassage]) -> None:
        self.paragraph_ids: dict[str, str] = {}
        """Document id to paragraph id."""
        self._context = context
        for position, item in enumerate(context):
            paragraph_id = item.passage.paragraph_id
            # A long paragraph may be here in several pieces. "#" does not occur in paragraph ids.
            first = paragraph_id not in self.paragraph_ids
            name = paragraph_id if first else f"{paragraph_id}#{position}"
            self.paragraph_ids[name] = paragraph_id

    def documents(self) -> list[Document]:
        from cohere import Document  # noqa: PLC0415 - loaded when the client was opened

        return [
            Document(
                id=name,
                data={
                    "title": visible(" > ".join(item.passage.heading_path)),
                    "text": visible(item.passage.text),
                },
            )
            for name, item in zip(self.paragraph_ids, self._context, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class _ReceivedCitation:
    """A citation as received; `start` and `end` are relative to the content block."""

    block: int
    start: int
    end: int
    words: str
    paragraph_ids: tuple[str, ...]


class ChatReader:
    """Converts events to the port's events. Implements the `StreamReader` of `provider_stream`.

    A citation is held back until its text has arrived: the model and the citation mode determine
    which of the two comes first.
    """

    def __init__(self, documents: DocumentSet) -> None:
        self._documents = documents
        self._detector = NoAnswerDetector()
        self._text = ""
        self._blocks: dict[int, int] = {}
        self._received: list[_ReceivedCitation] = []
        self._started = False
        self._usage = Usage()
        self._reason: str | None = None

    def feed(self, event: V2ChatStreamResponse) -> Iterator[GeneratorEvent]:
        """Raise ProviderError if the event reports that the generation failed."""
        if event.type == "content-delta":
            content = event.delta and event.delta.message and event.delta.message.content
            yield from self._add_text(event.index or 0, (content and content.text) or "")
        elif event.type == "citation-start":
            self._add_citation(event.delta)
            yield from self._placed()
        elif event.type == "message-end":
            self._end(event.delta)
        elif event.type == "message-start":
            self._start()

    def _start(self) -> None:
        if self._started:
            # The SDK reports an event that it cannot parse as another `message-start`.
            logger.warning("cohere.unreadable_event")
        self._started = True

    def _add_text(self, block: int, text: str) -> Iterator[GeneratorEvent]:
        if not text:
            return
        self._blocks.setdefault(block, len(self._text))
        self._text += text
        shown = self._detector.feed(text)
        if shown:
            yield GeneratedText(shown)
            yield from self._placed()

    def _add_citation(self, delta: CitationStartEventDelta | None) -> None:
        citation = delta.message.citations if delta and delta.message else None
        if citation is None or citation.type not in (None, "TEXT_CONTENT"):
            return  # of the model's thinking or plan, which is not shown
        paragraphs = self._cited_paragraphs(citation)
        if not paragraphs or citation.start is None or citation.end is None:
            return
        self._received.append(
            _ReceivedCitation(
                citation.content_index or 0,
                citation.start,
                citation.end,
                citation.text or "",
                paragraphs,
            )
        )

    def _cited_paragraphs(self, citation: Citation) -> tuple[str, ...]:
        known = self._documents.paragraph_ids
        sources = (source.id for source in citation.sources or () if source.type == "document")
        return tuple(dict.fromkeys(known[name] for name in sources if name in known))

    def _placed(self) -> Iterator[GeneratedCitation]:
        """Yield and remove the citations whose text has arrived."""
        if self._detector.holding:
            return
        waiting: list[_ReceivedCitation] = []
        for one in self._received:
            span = self._span(one)
            if span is None:
                waiting.append(one)
            else:
                yield GeneratedCitation(*span, one.paragraph_ids)
        self._received = waiting

    def _span(self, one: _ReceivedCitation) -> tuple[int, int] | None:
        """Return the offsets of a citation in the whole text; None if its text has not arrived.

        Cohere's offsets are characters in a content block. If the text there differs from the
        cited words, the nearest occurrence of the words is taken.
        """
        offset = self._blocks.get(one.block, min(self._blocks.values(), default=0))
        start, end = offset + one.start, offset + one.end
        if not 0 <= start < end <= len(self._text):
            return None
        if not one.words or self._text[start:end] == one.words:
            return start, end
        return self._nearest(one.words, start)

    def _nearest(self, words: str, start: int) -> tuple[int, int] | None:
        before = self._text.rfind(words, 0, start + len(words))
        after = self._text.find(words, start)
        places = [place for place in (before, after) if place >= 0]
        if not places:
            return None
        place = min(places, key=lambda found: abs(found - start))
        return place, place + len(words)

    def _end(self, delta: ChatMessageEndEventDelta | None) -> None:
        reason = (delta and delta.finish_reason) or "COMPLETE"
        if reason == "TIMEOUT":
            message = "Cohere could not answer: the generation took too long"
            raise ProviderUnavailable(message)
        if reason.startswith("ERROR"):
            logger.warning("cohere.generation_failed", extra={"error": delta and delta.error})
            message = "Cohere could not answer: the generation failed"
            raise ProviderError(message)
        self._usage, self._reason = usage_of(delta.usage if delta else None), reason

    def close(self) -> Iterator[GeneratorEvent]:
        end = generated_end("Cohere", self._usage, self._reason, self._detector)
        held = self._detector.close()
        if held:
            yield GeneratedText(held)
        yield from self._placed()
        if self._received and not self._detector.refused:
            logger.warning("cohere.citations_out_of_text", extra={"count": len(self._received)})
        yield end


def usage_of(usage: CohereUsage | None) -> Usage:
    """Return the billed tokens or, if they are missing, the used tokens."""
    if usage is None:
        return Usage()
    counts = usage.billed_units or usage.tokens
    if counts is None:
        return Usage()
    return Usage(int(counts.input_tokens or 0), int(counts.output_tokens or 0))
