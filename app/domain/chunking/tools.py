"""Functions that chunking strategies need from libraries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.domain.chunking.config import RecursiveConfig, StrategyName
from app.domain.document import Span
from app.domain.errors import ConfigError


@dataclass(frozen=True)
class ChunkingTools:
    count_tokens: Callable[[str], int]
    split_sentences: Callable[[str, str], list[Span]]
    """(text, ISO 639-1 code) -> sentence spans without blanks at the ends."""
    split_recursively: Callable[[str, RecursiveConfig], list[Span]] | None = None
    """(text, sizes) -> ascending spans. For `recursive` and `auto`."""
    embed: Callable[[Sequence[str]], Sequence[Sequence[float]]] | None = None
    """Returns one vector for each text. For `semantic`."""
    embeds_tokens: bool = False
    """Whether the embedder has a vector for each token. For `late`."""


def missing_tool(strategy: StrategyName, what: str) -> ConfigError:
    return ConfigError(f"the chunking strategy {strategy.value!r} needs {what}")
