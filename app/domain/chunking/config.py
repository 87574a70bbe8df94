"""Settings of the chunking strategies."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from enum import StrEnum
from functools import lru_cache
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


class OverlapScope(StrEnum):
    """How far back a chunk may repeat text."""

    PAGE = "page"
    """Up to text of the previous section."""
    SECTION = "section"
    """Only text of the same section."""


@dataclass(frozen=True, slots=True)
class StructureConfig:
    """Sizes in tokens. The target is `low` to `high`; `minimum` to `maximum` is allowed."""

    low: int = 200
    high: int = 500
    minimum: int = 100
    maximum: int = 700
    """Hard limit of a chunk; a block within it is never split."""
    overlap: int = 60
    """Target overlap with the previous chunk, in whole sentences or blocks."""
    overlap_scope: OverlapScope = OverlapScope.PAGE


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
    CODE = "code"


@dataclass(frozen=True, slots=True)
class RecursiveConfig:
    """Sizes in tokens."""

    size: int = 512
    overlap: int = 128
    separators: Separators = Separators.TEXT


@dataclass(frozen=True, slots=True)
class SentenceConfig:
    """Sizes in tokens."""

    target: int = 512
    maximum: int = 768
    minimum: int = 50
    overlap: int = 50
    """At least one sentence and this many tokens; of a long block its last lines or items. Less if
    the chunk would exceed its maximum or follows included text."""
    whole_below_words: int = 200
    """A document with fewer words is one chunk."""


@dataclass(frozen=True, slots=True)
class AutoConfig:
    whole_below_words: int = 200
    code_share: float = 0.5
    """Minimum share of characters in code blocks, 0 to 1, to chunk a document as code."""
    markup_share: float = 0.02
    """Minimum share of headings, lists, tables and code among blocks to chunk it as Markdown."""


@dataclass(frozen=True, slots=True)
class SemanticConfig:
    """Sizes in tokens."""

    percentile: float = 90.0
    """Cut where the distance between neighbouring sentences exceeds this percentile, 0 to 100."""
    window: int = 1
    """Neighbours on either side that are embedded with each sentence."""
    minimum: int = 100
    maximum: int = 700


_StrategyConfig: TypeAlias = (
    StructureConfig | FixedConfig | RecursiveConfig | SentenceConfig | AutoConfig | SemanticConfig
)
_ASCENDING: Mapping[type, tuple[tuple[str, ...], ...]] = {
    StructureConfig: (("minimum", "low", "high", "maximum"), ("overlap", "high")),
    FixedConfig: (("overlap", "size"),),
    RecursiveConfig: (("overlap", "size"),),
    SentenceConfig: (("minimum", "target", "maximum"), ("overlap", "target")),
    SemanticConfig: (("minimum", "maximum"),),
}
"""Names in ascending order: a value must not exceed the next; an overlap must be below it."""
_SMALLEST = 20
"""Smallest allowed maximum of a chunk, in tokens or characters: room for a few words."""
_AT_MOST = {"percentile": 100.0, "code_share": 1.0, "markup_share": 1.0}
_USES = {StrategyName.AUTO: (StrategyName.RECURSIVE, StrategyName.SENTENCE)}
_TOKEN_SIZES = frozenset({"low", "high", "minimum", "maximum", "overlap", "size", "target"})
"""Names of sizes in tokens; of `fixed` they are in characters."""
_PREFIX = "rag_"


@dataclass(frozen=True, slots=True)
class ChunkingConfig:
    strategy: StrategyName = StrategyName.STRUCTURE
    structure: StructureConfig = field(default_factory=StructureConfig)
    fixed: FixedConfig = field(default_factory=FixedConfig)
    recursive: RecursiveConfig = field(default_factory=RecursiveConfig)
    sentence: SentenceConfig = field(default_factory=SentenceConfig)
    auto: AutoConfig = field(default_factory=AutoConfig)
    semantic: SemanticConfig = field(default_factory=SemanticConfig)
    late: StructureConfig = StructureConfig(overlap=0)
    """Chunks do not overlap, since their vectors include the context."""
    exclude: tuple[BlockKind, ...] = ()
    """Block kinds left out of the index."""
    scale: float = 1.0
    """Factor of all sizes in tokens, 1 or more; see `domain.script_scale`."""

    def of(self, strategy: StrategyName) -> _StrategyConfig:
        config: _StrategyConfig = getattr(self, strategy.value)
        return config

    def fingerprint(self, strategy: StrategyName | None = None) -> str:
        """Return a hash of all settings that affect the strategy's chunks, 16 hex digits."""
        return _fingerprint(self, strategy or self.strategy)

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


@lru_cache(maxsize=64)
def _fingerprint(config: ChunkingConfig, name: StrategyName) -> str:
    facts = {
        "settings": {each: asdict(config.of(each)) for each in (name, *_USES.get(name, ()))},
        "exclude": sorted(config.exclude),
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]


def _scaled(config: _StrategyConfig, scale: float) -> _StrategyConfig:
    names = _TOKEN_SIZES & {each.name for each in fields(config)}
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
    if isinstance(value, StrEnum):
        return value
    if not 0 <= value <= _AT_MOST.get(key, value):
        bounds = f"between 0 and {_AT_MOST[key]:g}" if key in _AT_MOST else "0 or more"
        message = f"{_PREFIX}{key}: {text!r} must be {bounds}"
        raise SettingError(message, _PREFIX + key)
    return value


def _require_sound(config: _StrategyConfig) -> None:
    """SettingError if sizes contradict each other."""
    for names in _ASCENDING.get(type(config), ()):
        for name, following in pairwise(names):
            value, bound = getattr(config, name), getattr(config, following)
            if value > bound or (value == bound and name == "overlap"):
                relation = "must be below" if name == "overlap" else "must not be above"
                message = f"{_PREFIX}{name} {value} {relation} {_PREFIX}{following} {bound}"
                raise SettingError(message, _PREFIX + name, _PREFIX + following)
        if getattr(config, names[-1]) < _SMALLEST:
            message = f"{_PREFIX}{names[-1]} must be {_SMALLEST} or more"
            raise SettingError(message, _PREFIX + names[-1])
