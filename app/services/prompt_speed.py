"""Estimates how fast a model server reads prompts, and limits the length of the next prompt.

A small machine reads tens of tokens a second, a large one thousands. A context that a large machine
reads at once would time out on a small one. So the time to the first token is measured:

    seconds a token = EWMA of (seconds to the first token / prompt tokens read)
    prompt tokens   = first_token_seconds / seconds a token, at first
                      first_token_seconds * ASSUMED_TOKENS_PER_SECOND
    time limit      = SLACK * prompt tokens * seconds a token,
                      from `least_limit` to `most_limit`; `most_limit` before the first measurement

Queueing on a busy server counts as reading, so that its prompts become shorter.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

_log = logging.getLogger(__name__)

ASSUMED_TOKENS_PER_SECOND = 75.0
"""Assumed before the first measurement: a third of the speed of a model with 135 million parameters
on two busy cores."""
MIN_MEASURED = 100
"""Minimum tokens read for a measurement; with fewer (the rest is cached) latency dominates."""
WEIGHT = 0.5
"""Weight of a measurement in the EWMA: a first call that loads the model is outweighed after two or
three more."""
SLACK = 3.0
LESS_TO_READ = "RAG_OPENAI_FIRST_TOKEN_SECONDS, RAG_CONTEXT_TOKENS, RAG_OPENAI_PROMPT=short"


@dataclass(slots=True)
class PromptSpeed:
    """The estimate for one server; times in seconds, tokens by this program's count."""

    first_token_seconds: float = 20.0
    """Target time to the first token."""
    least_limit: float = 60.0
    most_limit: float = 120.0
    _seconds_per_token: float | None = field(default=None, init=False)
    _slow: bool = field(default=False, init=False)

    @property
    def _pace(self) -> float:
        """Seconds a token, measured or assumed."""
        return self._seconds_per_token or 1 / ASSUMED_TOKENS_PER_SECOND

    @property
    def prompt_tokens(self) -> int:
        """Tokens that are read within `first_token_seconds`."""
        return round(self.first_token_seconds / self._pace)

    def limit(self, tokens: int) -> float:
        """Seconds to wait for the first token after a prompt of `tokens`."""
        if self._seconds_per_token is None:
            return self.most_limit
        wanted = SLACK * tokens * self._pace
        return min(max(wanted, self.least_limit), self.most_limit)

    def measured(self, tokens: int, seconds: float) -> None:
        """Record that the first token came `seconds` after a prompt of which `tokens` were read."""
        if tokens < MIN_MEASURED:
            return
        pace = max(seconds, 1e-6) / tokens
        last = self._seconds_per_token
        self._seconds_per_token = pace if last is None else WEIGHT * pace + (1 - WEIGHT) * last

    def timed_out(self, tokens: int, seconds: float) -> None:
        """Record that no token came within `seconds`: a lower bound of the time."""
        if seconds > tokens * self._pace:
            self.measured(tokens, seconds)

    def shortened(self, kept: int, whole: int) -> None:
        """Record that `kept` of the context's `whole` tokens are sent; log the first shortening."""
        slow = kept < whole and self._seconds_per_token is not None
        if slow and not self._slow:
            fields = {
                "prompt_tokens_per_second": round(1 / self._pace, 1),
                "context_tokens": kept,
                "instead_of": whole,
                "settings": LESS_TO_READ,
            }
            _log.warning("openai.slow_server", extra=fields)
        self._slow = slow
