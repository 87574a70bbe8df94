"""Recognises learning objectives: "By the end of this section, you will be able to: ..."."""

from __future__ import annotations

import re

from app.domain.chunking.chunk import Passage
from app.domain.document import BlockKind

ASKS_OBJECTIVES = "learn objectives goals outcomes lernziele aprender objetivos objectifs obiettivi"
"""Words of a question that may ask for them."""

_OBJECTIVES = re.compile(
    r"\b(?:you(?:['\u2019]ll| will) (?:be able to|learn)|what (?:you(?:['\u2019]ll| will)|we) learn"
    r"|learning (?:objectives|goals|outcomes)"
    r"|lernziele|werden sie in der lage sein|kannst du am ende"
    r"|objetivos de aprendizaje|serás capaz de|aprenderás"
    r"|objectifs d['\u2019]apprentissage|vous serez capable de|vous apprendrez"
    r"|obiettivi di apprendimento|sarai in grado di|objetivos de aprendizagem|será capaz de)\b",
    re.IGNORECASE,
)


def states_objectives(passage: Passage, before: Passage | None) -> bool:
    """Whether the paragraph says what the reader will learn.

    `before` is the paragraph before it, which may announce a list.
    """
    if any(map(names_objectives, passage.heading_path[-1:])) or _announces(passage):
        return True
    return passage.kind is BlockKind.LIST and before is not None and _announces(before)


def names_objectives(heading: str) -> bool:
    """Whether a section with this heading states objectives."""
    return _OBJECTIVES.search(heading) is not None


def _announces(passage: Passage) -> bool:
    text = passage.text.strip()
    titled = passage.kind is BlockKind.ADMONITION and _OBJECTIVES.match(text)
    return bool(titled or (text.endswith(":") and _OBJECTIVES.search(text)))
