"""The turns of a conversation that are taken along."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from app.domain.retrieval.query import Turn


def recent(
    history: Sequence[Turn], token_budget: int, count_tokens: Callable[[str], int]
) -> tuple[Turn, ...]:
    """The last turns, whole, that fit into the budget together; of the very last its beginning."""
    kept: list[Turn] = []
    left = token_budget
    for turn in reversed(history):
        tokens = count_tokens(turn.content)
        if tokens > left:
            if not kept and left > 0:
                beginning = turn.content[: len(turn.content) * left // tokens]
                kept.append(replace(turn, content=beginning))
            break
        kept.append(turn)
        left -= tokens
    return tuple(reversed(kept))
