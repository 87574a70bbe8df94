"""What comes after the parser takes steps in proportion to the page, whatever its shape."""

from __future__ import annotations

from collections.abc import Set
from functools import partial

import pytest

from app.domain import ledger_matching
from app.domain.chunking.config import (
    AutoConfig,
    ChunkingConfig,
    FixedConfig,
    PackingConfig,
    RecursiveConfig,
    SemanticConfig,
)
from tests.attacking import steps
from tests.page_shapes import SHAPES, STAGES, made

pytestmark = pytest.mark.attack("shapes")

UNITS = 28
MOST = 2.4
"""Times the steps that twice the page may take; quadratic work takes four times as many."""
FEW = 100
"""Steps that do not count: what is over in so few has not begun to grow."""
COMMON = 4
"""Holders of a common 5-gram; with the sizes below, a short page has what a long one has."""
SMALL = ChunkingConfig(
    structure=PackingConfig(low=24, high=60, minimum=12, maximum=80, overlap=8),
    fixed=FixedConfig(size=90, overlap=12),
    recursive=RecursiveConfig(size=60, overlap=12),
    sentence=PackingConfig(low=60, high=60, minimum=8, maximum=80, overlap=8),
    auto=AutoConfig(whole_below_words=20),
    semantic=SemanticConfig(minimum=12, low=12, high=80, maximum=80),
)
LARGER = 6
"""Times UNITS, to tell what grows on from what grows once."""
AS_OTHERS = {"late", "auto", "semantic", "moved", "quotes"}
"""Stages that run the code of others, or hardly any."""


@pytest.mark.parametrize("shape", SHAPES)
def test_twice_the_page_takes_twice_the_steps(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_matching, "COMMON_GRAM", COMMON)
    grown = _grown(shape, STAGES.keys() - AS_OTHERS, UNITS)
    # A page may also grow out of a size at which there is less to do: a list that a chunk holds.
    if grown:
        grown = _grown(shape, set(grown), UNITS * LARGER)
    assert not grown


def _grown(shape: str, stages: Set[str], units: int) -> dict[str, tuple[int, int]]:
    once, twice = (made(SHAPES[shape], units * times, SMALL) for times in (1, 2))
    counts = {
        stage: (steps(partial(STAGES[stage], once)), steps(partial(STAGES[stage], twice)))
        for stage in stages
    }
    return {
        stage: (first, second)
        for stage, (first, second) in counts.items()
        if second > FEW + MOST * first
    }
