"""Estimates how fast a model server reads prompts, and limits the length of the next prompt.

A small machine reads tens of tokens a second, a large one thousands. A context that a large machine
reads at once would time out on a small one. So the time to the first token is measured:

    seconds a token = EWMA of (seconds to the first token / prompt tokens read)
    prompt tokens   = _TARGET_SECONDS / seconds a token

Queueing on a busy server counts as reading, so that its prompts become shorter.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

_log = logging.getLogger(__name__)

_TARGET_SECONDS = 20.0
"""Time to the first token that a reader may be asked to wait for."""
_ASSUMED = 1 / 75.0
"""Seconds a token before the first measurement: a third of the speed of a model with 135 million
parameters on two busy cores."""
MIN_MEASURED = 100
"""Minimum tokens read for a measurement; with fewer (the rest is cached) latency dominates."""
_WEIGHT = 0.5
"""Weight of a measurement in the EWMA: a first call that loads the model is outweighed after two or
three more."""


@dataclass(slots=True)
class PromptSpeed:
    """The estimate for one server."""

    _seconds_per_token: float = field(default=_ASSUMED, init=False)
    _logged: bool = field(default=False, init=False)

    @property
    def prompt_tokens(self) -> int:
        """Tokens, by this program's count, that are read within the target."""
        return round(_TARGET_SECONDS / self._seconds_per_token)

    def measured(self, tokens: int, seconds: float) -> None:
        """Record that the first token came `seconds` after a prompt of which `tokens` were read.

        Without a first token, the seconds waited.
        """
        if tokens < MIN_MEASURED:
            return
        pace = max(seconds, 1e-6) / tokens
        self._seconds_per_token = _WEIGHT * pace + (1 - _WEIGHT) * self._seconds_per_token

    def shortened(self, kept: int, whole: int) -> None:
        """Log the first time that a slow server gets `kept` of the context's `whole` tokens."""
        slow = kept < whole and self._seconds_per_token > _ASSUMED
        if slow and not self._logged:
            fields = {
                "prompt_tokens_per_second": round(1 / self._seconds_per_token, 1),
                "context_tokens": kept,
                "instead_of": whole,
                "setting": "RAG_CONTEXT_TOKENS",
            }
            _log.warning("openai.slow_server", extra=fields)
        self._logged = slow
