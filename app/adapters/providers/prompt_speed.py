"""Estimates how fast a model server reads prompts, and limits the length of the next prompt.

A small machine reads tens of tokens a second, a large one thousands. A context that a large machine
reads at once would time out on a small one. So the time to the first token is measured:

    seconds a token = EWMA of (seconds to the first token / prompt tokens read)
    prompt tokens   = _TARGET_SECONDS / seconds a token

Queueing on a busy server counts as reading, so that its prompts become shorter.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.retrieval.query import ContextPassage

_log = logging.getLogger(__name__)

_TARGET_SECONDS = 20.0
"""Time to the first token that a reader may be asked to wait for."""
_ASSUMED = 1 / 75.0
"""Seconds a token before the first measurement: a third of the speed of a model with 135 million
parameters on two busy cores."""
_MIN_MEASURED = 100
"""Minimum tokens read for a measurement; with fewer (the rest is cached) latency dominates."""
_WEIGHT = 0.5
"""Weight of a measurement in the EWMA: a first call that loads the model is outweighed after two or
three more."""
_MIN_CONTEXT_TOKENS = 400
"""Minimum token budget of the context, however slow the server is: two paragraphs."""


@dataclass(slots=True)
class PromptSpeed:
    """The estimate for one server."""

    seconds_per_token: float = _ASSUMED
    _slow: bool = False

    def measured(self, tokens: int, seconds: float) -> None:
        """Record that the first token came `seconds` after a prompt of which `tokens` were read.

        Without a first token, the seconds waited.
        """
        if tokens >= _MIN_MEASURED:
            pace = max(seconds, 1e-6) / tokens
            self.seconds_per_token = _WEIGHT * pace + (1 - _WEIGHT) * self.seconds_per_token

    def shortened(self, context: Sequence[ContextPassage], rest: int) -> Sequence[ContextPassage]:
        """Return the paragraphs with the highest scores that are read in time, in their order.

        At least one. `rest` are the prompt's other tokens.
        """
        left = max(round(_TARGET_SECONDS / self.seconds_per_token) - rest, _MIN_CONTEXT_TOKENS)
        kept: set[int] = set()
        for at in sorted(range(len(context)), key=lambda one: -context[one].score):
            if context[at].tokens <= left or not kept:
                kept.add(at)
                left -= context[at].tokens
        slow = len(kept) < len(context) and self.seconds_per_token > _ASSUMED
        if slow and not self._slow:
            speed = round(1 / self.seconds_per_token, 1)
            fields = {"prompt_tokens_per_second": speed, "setting": "RAG_CONTEXT_TOKENS"}
            _log.warning("openai.slow_server", extra=fields)
        self._slow = slow
        return [context[at] for at in sorted(kept)]
