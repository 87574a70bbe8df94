"""The signals of an offline answer that `scripts/bench/extraction.py --ablate` can leave out."""

from __future__ import annotations

from enum import StrEnum


class Rule(StrEnum):
    DEFINITION = "definition score"
    SIMILARITY = "embedding similarity"
    RETRIEVAL = "retrieval score"
    COMPARISON = "comparison"
    ANNOUNCEMENT = "announcements"


ALL_RULES = frozenset(Rule)
