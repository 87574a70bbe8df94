"""Settings of the chunking strategies."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from itertools import pairwise
from typing import Any, TypeAlias

from app.domain.document import BlockKind
from app.domain.errors import SettingError, UnknownStrategy


class StrategyName(StrEnum):
    STRUCTURE = "structure"
    FIXED = "fixed"
    RECURSIVE = "recursive"
    SENTENCE = "sentence"
    AUTO = "auto"
    SEMANTIC = "semantic"
    LATE = "late"


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


@dataclass(frozen=True, slots=True)
class SemanticConfig(PackingConfig):
    low: int = 100
    high: int = 700
    overlap: int = 0
    percentile: float = 90.0
    """Cut where the distance between neighbouring sentences exceeds this percentile, 0 to 100."""
    window: int = 1
    """Neighbours on either side that are embedded with each sentence."""


@dataclass(frozen=True, slots=True)
class FixedConfig:
    """Sizes in characters."""

    size: int = 900
    overlap: int = 120
    prefer_sentence_ends: bool = False
    """End a chunk at the last sentence end in its second half, if there is one."""


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


@dataclass(frozen=True, slots=True)
class AutoConfig:
    """The sizes are those of `recursive` and `sentence`."""

    whole_below_words: int = 200


_StrategyConfig: TypeAlias = PackingConfig | FixedConfig | RecursiveConfig | AutoConfig
_ASCENDING = ("minimum", "low", "high", "maximum")
"""Sizes of which none may exceed the next."""
_SMALLEST = 20
"""Smallest allowed maximum of a chunk, in tokens or characters: room for a few words."""
_IN_TOKENS = (*_ASCENDING, "overlap", "size")
_PREFIX = "rag_"


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
    scale: float = 1.0
    """Factor of all sizes in tokens, 1 or more; see `domain.scripts`."""

    def of(self, strategy: StrategyName) -> _StrategyConfig:
        config: _StrategyConfig = getattr(self, strategy.value)
        return config

    def fingerprint(self) -> str:
        """Return a hash of all settings, 16 hex digits."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:16]

    def scaled(self) -> ChunkingConfig:
        """Return a copy with all sizes in tokens multiplied by `scale`, rounded down."""
        others = [name for name in StrategyName if name is not StrategyName.FIXED]
        sizes: dict[str, Any] = {one.value: _scaled(self.of(one), self.scale) for one in others}
        return self if self.scale == 1 else replace(self, scale=1.0, **sizes)

    def with_settings(self, settings: Mapping[str, str]) -> ChunkingConfig:
        """Return a copy overridden by a document's front matter or by `rag.toml`.

        `rag_strategy` names the strategy; `rag_<field>` sets a field of that strategy's settings,
        such as `rag_high: 700`. Other keys are ignored. UnknownStrategy, or SettingError
        for a key or value that the strategy does not have.
        """
        named = {key: value for key, value in settings.items() if key.startswith(_PREFIX)}
        own = {key.removeprefix(_PREFIX): value for key, value in named.items()}
        if not own:
            return self
        strategy = strategy_name(own.pop("strategy", self.strategy))
        config = self.of(strategy)
        changes: dict[str, Any] = {key: _value(config, key, value) for key, value in own.items()}
        changed = replace(config, **changes)
        _require_sound(changed)
        values: dict[str, Any] = {"strategy": strategy, strategy.value: changed}
        return replace(self, **values)


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


def _value(config: _StrategyConfig, key: str, text: str) -> int | float | bool | StrEnum:
    """Parse the text as the type of the field's default."""
    known = {each.name for each in fields(config)}
    if key not in known:
        message = f"unknown setting {_PREFIX}{key}; this strategy has: {', '.join(sorted(known))}"
        raise SettingError(message, _PREFIX + key)
    default = getattr(config, key)
    try:
        if isinstance(default, bool):
            return {"true": True, "false": False}[text.strip().lower()]
        value: int | float | StrEnum = type(default)(text)
    except (KeyError, ValueError) as error:
        shown = " or ".join(type(default)) if isinstance(default, StrEnum) else repr(default)
        message = f"{_PREFIX}{key}: {text!r} is not valid; write a value such as {shown}"
        raise SettingError(message, _PREFIX + key) from error
    if not isinstance(value, StrEnum) and not (
        value >= 0 and (key != "percentile" or value <= 100)
    ):
        bounds = "between 0 and 100" if key == "percentile" else "0 or more"
        message = f"{_PREFIX}{key}: {text!r} must be {bounds}"
        raise SettingError(message, _PREFIX + key)
    return value


def _require_sound(config: _StrategyConfig) -> None:
    """SettingError if sizes contradict each other."""
    if isinstance(config, AutoConfig):
        return
    packed = isinstance(config, PackingConfig)
    target, largest = ("high", "maximum") if packed else ("size", "size")
    for name, following in pairwise(_ASCENDING) if packed else ():
        _require(config, name, following, "must not be above")
    if config.overlap:
        _require(config, "overlap", target, "must be below")
    if getattr(config, largest) < _SMALLEST:
        message = f"{_PREFIX}{largest} must be {_SMALLEST} or more"
        raise SettingError(message, _PREFIX + largest)


def _require(config: _StrategyConfig, name: str, following: str, relation: str) -> None:
    value, bound = getattr(config, name), getattr(config, following)
    if value > bound or (value == bound and name == "overlap"):
        message = f"{_PREFIX}{name} {value} {relation} {_PREFIX}{following} {bound}"
        raise SettingError(message, _PREFIX + name, _PREFIX + following)
