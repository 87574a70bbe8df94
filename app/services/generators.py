"""The port `Generator`, of models that write answers. Adapters implement it in `providers`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Protocol

from app.domain.generated_text.events import GeneratorEvent
from app.domain.retrieval.query import ContextPassage, Turn


@dataclass(frozen=True, slots=True)
class GenerationRequest:
    """What an answer is written from."""

    question: str
    """The question; text that the reader selected is quoted in it."""
    history: Sequence[Turn]
    context: Sequence[ContextPassage]
    """The paragraphs in reading order."""


class Generator(Protocol):
    """Writes an answer from paragraphs given as documents."""

    @property
    def model(self) -> str:
        """Name of the model."""
        ...

    def generate(self, request: GenerationRequest) -> AsyncGenerator[GeneratorEvent, None]:
        """Yield text and citations in any order, then exactly one GeneratedEnd.

        If the context has no answer, there is no text and `finish_reason` is NO_ANSWER.
        Closing it ends the generation. Raises ProviderError.
        """
        ...
