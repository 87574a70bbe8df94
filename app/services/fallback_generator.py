"""One generator in the place of another that fails before its first word."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass

from app.domain.answer import AnswerMode
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

    The failure is raised where `second` has no answer either, and below `least_answerability`: what
    a model might have refused is not answered by rules.
    """

    first: Generator
    second: Generator
    least_answerability: float

    @property
    def model(self) -> str:
        return self.first.model

    @property
    def mode(self) -> AnswerMode:
        return self.first.mode

    async def generate(self, request: GenerationRequest) -> AsyncGenerator[GeneratorEvent, None]:
        written = False
        try:
            async with aclosing(self.first.generate(request)) as events:
                async for event in events:
                    written = written or (isinstance(event, GeneratedText) and bool(event.text))
                    if isinstance(event, GeneratedEnd) and not written:
                        _require_answer(event)
                    yield event
                    if isinstance(event, GeneratedEnd):
                        return
            message = "the generator stopped before the end of its answer"
            raise ProviderUnavailable(message)
        except ProviderError as error:
            if written or request.answerability < self.least_answerability:
                raise
            failure = error
        async with aclosing(self.second.generate(request)) as events:
            async for event in events:
                if not written:
                    if isinstance(event, GeneratedEnd):
                        raise failure
                    log_failure(_log, "answer.generator_failed", failure)
                    yield GeneratorReplaced(self.second.mode)
                    written = True
                yield event


def _require_answer(end: GeneratedEnd) -> None:
    if end.finish_reason != NO_ANSWER:
        message = "the generator wrote nothing"
        raise ProviderUnavailable(message)
