"""What the chunking strategies are given: settings, and functions from libraries."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from itertools import pairwise
from typing import Any, TypeAlias

from app.domain.document import BlockKind, Span
from app.domain.errors import UnknownStrategy


class StrategyName(StrEnum):
    STRUCTURE = "structure"
    FIXED = "fixed"
    RECURSIVE = "recursive"
    SENTENCE = "sentence"
    AUTO = "auto"
    SEMANTIC = "semantic"
    LATE = "late"


_ASCENDING = ("minimum", "low", "high", "maximum")
"""Sizes of which none may exceed the next."""


def _require_sound(
    config: PackingConfig | FixedConfig | RecursiveConfig, *ascending: str, target: str
) -> None:
    """ValueError if sizes contradict each other."""
    order = [*pairwise(ascending), *([("overlap", target)] if config.overlap else [])]
    for name, other in order:
        size, bound = getattr(config, name), getattr(config, other)
        if size > bound or (size == bound and name == "overlap"):
            relation = "be below" if name == "overlap" else "not be above"
            message = f"{name} {size} must {relation} {other} {bound}"
            raise ValueError(message)
    if min(config.overlap, getattr(config, (*ascending, target)[0])) < 0:
        message = "no size may be negative"
        raise ValueError(message)


@dataclass(frozen=True, slots=True)
class PackingConfig:
    """Sizes in tokens. The target is `low` to `high`; `minimum` to `maximum` is allowed."""

    low: int = 200
    high: int = 500
    minimum: int = 100
    maximum: int = 700
    """Hard limit of a chunk; of `structure`, a block within it is never split."""
    overlap: int = 60
    """Target overlap with the previous chunk, in whole sentences, items or blocks."""

    def __post_init__(self) -> None:
        _require_sound(self, *_ASCENDING, target="high")


@dataclass(frozen=True, slots=True)
class SemanticConfig(PackingConfig):
    low: int = 100
    high: int = 700
    overlap: int = 0
    percentile: float = 90.0
    """Cut where the distance between neighbouring sentences exceeds this percentile, 0 to 100."""
    window: int = 1
    """Neighbours on either side that are embedded with each sentence."""

    def __post_init__(self) -> None:
        PackingConfig.__post_init__(self)
        if not 0 <= self.percentile <= 100 or self.window < 0:
            message = "percentile must be from 0 to 100, window 0 or more"
            raise ValueError(message)


@dataclass(frozen=True, slots=True)
class FixedConfig:
    """Sizes in characters."""

    size: int = 900
    overlap: int = 120
    prefer_sentence_ends: bool = False
    """End a chunk at the last sentence end in its second half, if there is one."""

    def __post_init__(self) -> None:
        _require_sound(self, target="size")


class Separators(StrEnum):
    """Set of separators for the recursive strategy."""

    TEXT = "text"
    MARKDOWN = "markdown"


@dataclass(frozen=True, slots=True)
class RecursiveConfig:
    """Sizes in tokens."""

    size: int = 512
    overlap: int = 128
    separators: Separators = Separators.TEXT

    def __post_init__(self) -> None:
        _require_sound(self, target="size")


@dataclass(frozen=True, slots=True)
class AutoConfig:
    """The sizes are those of `recursive` and `sentence`."""

    whole_below_words: int = 200


_StrategyConfig: TypeAlias = PackingConfig | FixedConfig | RecursiveConfig | AutoConfig
_IN_TOKENS = (*_ASCENDING, "overlap", "size")


@dataclass(frozen=True, slots=True)
class ChunkingConfig:
    strategy: StrategyName = StrategyName.STRUCTURE
    structure: PackingConfig = field(default_factory=PackingConfig)
    fixed: FixedConfig = field(default_factory=FixedConfig)
    recursive: RecursiveConfig = field(default_factory=RecursiveConfig)
    sentence: PackingConfig = PackingConfig(512, 512, 50, 768, 50)
    auto: AutoConfig = field(default_factory=AutoConfig)
    semantic: SemanticConfig = field(default_factory=SemanticConfig)
    late: PackingConfig = PackingConfig(overlap=0)
    """Chunks do not overlap, since their vectors include the context."""
    exclude: tuple[BlockKind, ...] = ()
    """Block kinds left out of the index."""

    def fingerprint(self) -> str:
        """Return a hash of all settings, 16 hex digits."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:16]

    def scaled(self, scale: float) -> ChunkingConfig:
        """Return a copy with all sizes in tokens multiplied by this, rounded down."""
        others = [name for name in StrategyName if name is not StrategyName.FIXED]
        sizes: dict[str, Any] = {name.value: _scaled(getattr(self, name), scale) for name in others}
        return replace(self, **sizes)


def _scaled(config: _StrategyConfig, scale: float) -> _StrategyConfig:
    names = [each.name for each in fields(config) if each.name in _IN_TOKENS]
    sizes: dict[str, Any] = {name: int(getattr(config, name) * scale) for name in names}
    return replace(config, **sizes)


def strategy_name(name: str) -> StrategyName:
    """Return the strategy of this name. UnknownStrategy, listing all names, if there is none."""
    try:
        return StrategyName(name)
    except ValueError as error:
        message = f"unknown chunking strategy {name!r}; choose one of: {', '.join(StrategyName)}"
        raise UnknownStrategy(message) from error


@dataclass(frozen=True)
class ChunkingTools:
    count_tokens: Callable[[str], int]
    split_sentences: Callable[[str, str], list[Span]]
    """(text, ISO 639-1 code) -> sentence spans without blanks at the ends."""
    split_recursively: Callable[[str, RecursiveConfig], list[Span]]
    """(text, sizes) -> ascending spans. For `recursive` and `auto`."""
    embed: Callable[[Sequence[str]], Sequence[Sequence[float]]] | None = None
    """Returns one vector for each text. For `semantic`."""
