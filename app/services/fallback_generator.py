"""One generator in the place of another that fails before its first word, or finds no answer."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace

from app.domain.answer import AnswerMode
from app.domain.answering.refusal import RefusalPolicy
from app.domain.errors import ProviderError, ProviderUnavailable
from app.domain.prompting import NO_ANSWER
from app.services.ports import (
    GeneratedEnd,
    GeneratedText,
    GenerationRequest,
    Generator,
    GeneratorEvent,
    GeneratorReplaced,
)
from app.services.provider_failures import log_failure

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FallbackGenerator:
    """Writes with `first`, or with `second` once `first` has failed without a word.

    The failure is raised where `second` has no answer either, and below the refusal threshold.
    `second` also quotes where `first` finds no answer although the score says that there is one.
    """

    first: Generator
    second: Generator
    refusal: RefusalPolicy

    @property
    def model(self) -> str:
        return self.first.model

    @property
    def mode(self) -> AnswerMode:
        return self.first.mode

    async def generate(self, request: GenerationRequest) -> AsyncGenerator[GeneratorEvent, None]:
        written = False
        given_up: GeneratedEnd | ProviderError | None = None
        try:
            async with aclosing(self.first.generate(request)) as events:
                async for event in events:
                    written = written or (isinstance(event, GeneratedText) and bool(event.text))
                    if isinstance(event, GeneratedEnd):
                        if not written:
                            _require_answer(event)
                        if written or request.answerability < self.refusal.answer_threshold:
                            yield event
                            return
                        given_up = event
                        break
                    yield event
            if given_up is None:
                message = "the generator stopped before the end of its answer"
                raise ProviderUnavailable(message)
        except ProviderError as error:
            if written or request.answerability < self.refusal.refusal_threshold:
                raise
            given_up = error
        async with aclosing(self._quoted(request, given_up)) as events:
            async for event in events:
                yield event

    async def _quoted(
        self, request: GenerationRequest, given_up: GeneratedEnd | ProviderError
    ) -> AsyncGenerator[GeneratorEvent, None]:
        """What `second` writes; if that is nothing, the end of `first` or its failure."""
        written = False
        async with aclosing(self.second.generate(request)) as events:
            async for event in events:
                if not written:
                    if isinstance(given_up, ProviderError):
                        if isinstance(event, GeneratedEnd):
                            raise given_up
                        log_failure(_log, "answer.generator_failed", given_up)
                    elif isinstance(event, GeneratedEnd):
                        yield given_up
                        return
                    declined = isinstance(given_up, GeneratedEnd)
                    yield GeneratorReplaced(self.second.mode, declined=declined)
                    written = True
                if isinstance(event, GeneratedEnd) and isinstance(given_up, GeneratedEnd):
                    event = replace(event, usage=given_up.usage)  # noqa: PLW2901
                yield event


def _require_answer(end: GeneratedEnd) -> None:
    if end.finish_reason != NO_ANSWER:
        message = "the generator wrote nothing"
        raise ProviderUnavailable(message)
