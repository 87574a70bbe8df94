"""What the chunking strategies are given: settings, and functions from libraries."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any, TypeAlias

from app.domain.document import BlockKind, Span


class StrategyName(StrEnum):
    STRUCTURE = "structure"
    FIXED = "fixed"
    RECURSIVE = "recursive"
    SENTENCE = "sentence"
    AUTO = "auto"
    SEMANTIC = "semantic"
    LATE = "late"


def _require(sound: bool, rule: str) -> None:
    """ValueError, with the rule that the settings break."""
    if not sound:
        raise ValueError(f"the settings need {rule}")


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
        ascending = 0 <= self.minimum <= self.low <= self.high <= self.maximum
        _require(ascending, "0 <= minimum <= low <= high <= maximum")
        _require(0 <= self.overlap < max(self.high, 1), "0 <= overlap < high")


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
        sound = 0 <= self.percentile <= 100 and self.window >= 0
        _require(sound, "0 <= percentile <= 100 and 0 <= window")


@dataclass(frozen=True, slots=True)
class FixedConfig:
    """Sizes in characters."""

    size: int = 900
    overlap: int = 120
    prefer_sentence_ends: bool = False
    """End a chunk at the last sentence end in its second half, if there is one."""

    def __post_init__(self) -> None:
        _require(0 <= self.overlap < self.size, "0 <= overlap < size")


class Separators(StrEnum):
    TEXT = "text"
    MARKDOWN = "markdown"


@dataclass(frozen=True, slots=True)
class RecursiveConfig:
    """Sizes in tokens."""

    size: int = 512
    overlap: int = 128
    separators: Separators = Separators.TEXT

    def __post_init__(self) -> None:
        _require(0 <= self.overlap < self.size, "0 <= overlap < size")


@dataclass(frozen=True, slots=True)
class AutoConfig:
    """The sizes are those of `recursive` and `sentence`."""

    whole_below_words: int = 200


_StrategyConfig: TypeAlias = PackingConfig | FixedConfig | RecursiveConfig | AutoConfig
_IN_TOKENS = ("minimum", "low", "high", "maximum", "overlap", "size")


@dataclass(frozen=True, slots=True)
class ChunkingConfig:
    strategy: StrategyName = StrategyName.STRUCTURE
    structure: PackingConfig = PackingConfig()
    fixed: FixedConfig = FixedConfig()
    recursive: RecursiveConfig = RecursiveConfig()
    sentence: PackingConfig = PackingConfig(512, 512, 50, 768, 50)
    auto: AutoConfig = AutoConfig()
    semantic: SemanticConfig = SemanticConfig()
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


@dataclass(frozen=True)
class ChunkingTools:
    count_tokens: Callable[[str], int]
    split_sentences: Callable[[str, str], list[Span]]
    """(text, ISO 639-1 code) -> sentence spans without blanks at the ends."""
    split_recursively: Callable[[str, RecursiveConfig], list[Span]]
    """(text, sizes) -> ascending spans. For `recursive` and `auto`."""
    embed: Callable[[Sequence[str]], Sequence[Sequence[float]]] | None = None
    """Returns one vector for each text. For `semantic`."""
