"""Converts Cohere's chat events to those of the port: text, citations with offsets, one end."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.domain.answer import Usage
from app.domain.errors import ProviderError, ProviderUnavailable
from app.domain.prompts import visible
from app.domain.retrieval.query import ContextPassage
from app.domain.surrogates import well_formed
from app.services.generators import (
    GeneratedCitation,
    GeneratedText,
    GeneratorEvent,
    TextDiscarded,
)
from app.services.provider_stream import Event, ModelText, field_of, text_of, usage_of

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

    def documents(self) -> list[dict[str, object]]:
        return [
            {
                "id": name,
                "data": {
                    "title": visible(" > ".join(item.passage.heading_path)),
                    "text": visible(item.passage.text),
                },
            }
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

    def __init__(self, documents: DocumentSet, text: ModelText) -> None:
        self.ended = False
        self._documents = documents
        self._received_text = text
        self._text = ""
        self._blocks: dict[int, int] = {}
        self._received: list[_ReceivedCitation] = []
        self._usage = Usage()
        self._reason = ""

    def feed(self, event: Event) -> Iterator[GeneratorEvent]:
        """Raise ProviderError if the event reports that the generation failed."""
        kind = event.get("type")
        if kind == "content-delta":
            # A block of the model's thinking has a field of its own.
            text = text_of(event, "delta", "message", "content", "text")
            self._blocks.setdefault(_offset(event, "index") or 0, len(self._text))
            yield from self._shown(self._received_text.feed(text))
            self.ended = self._received_text.full
        elif kind == "citation-start":
            self._add_citation(field_of(event, "delta", "message", "citations"))
            yield from self._placed()
        elif kind == "message-end":
            self._end(event.get("delta"))

    def _shown(self, pieces: Iterator[GeneratedText | TextDiscarded]) -> Iterator[GeneratorEvent]:
        for piece in pieces:
            yield piece
            if isinstance(piece, GeneratedText):
                self._text += piece.text
                yield from self._placed()

    def _add_citation(self, citation: object) -> None:
        if field_of(citation, "type") not in (None, "TEXT_CONTENT"):
            return  # of the model's thinking or plan, which is not shown
        paragraphs = self._cited_paragraphs(field_of(citation, "sources"))
        start, end = _offset(citation, "start"), _offset(citation, "end")
        if not paragraphs or start is None or end is None:
            return
        block = _offset(citation, "content_index") or 0
        words = well_formed(text_of(citation, "text"))
        self._received.append(_ReceivedCitation(block, start, end, words, paragraphs))

    def _cited_paragraphs(self, sources: object) -> tuple[str, ...]:
        known = self._documents.paragraph_ids
        names = (
            text_of(source, "id")
            for source in (sources if isinstance(sources, list) else ())
            if text_of(source, "type") == "document"
        )
        return tuple(dict.fromkeys(known[name] for name in names if name in known))

    def _placed(self) -> Iterator[GeneratedCitation]:
        """Yield and remove the citations whose text has arrived."""
        if self._received_text.holding:
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
        self._usage = usage_of(field_of(counts, "input_tokens"), field_of(counts, "output_tokens"))
        self._reason, self.ended = reason, True

    def close(self) -> Iterator[GeneratorEvent]:
        end = self._received_text.end("Cohere", self._usage, self._reason)
        yield from self._shown(self._received_text.close())
        yield from self._placed()
        if self._received and not self._received_text.refused:
            logger.warning("cohere.citations_out_of_text", extra={"count": len(self._received)})
        yield end


def _offset(value: object, name: str) -> int | None:
    found = field_of(value, name)
    return found if isinstance(found, int) else None
