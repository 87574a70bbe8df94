"""Paragraphs beside the subject, which answer nothing: learning objectives, "see also"."""

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
_LEADS_ON = re.compile(
    r"\W*(?:see also|see more|next steps?|what'?s next|further (?:information|reading|resources)"
    r"|related (?:pages|articles|topics)|learn more|more (?:information|resources)|external links"
    r"|siehe auch|weiterführende links|véase también|lecturas adicionales|voir aussi"
    r"|ver também|vedi anche)\W*",
    re.IGNORECASE,
)
"""Headings of lists of links."""


def only_leads_on(passage: Passage) -> bool:
    """Whether the paragraph is a list or line of links below a heading such as "See also"."""
    below = any(map(_LEADS_ON.fullmatch, passage.heading_path[-1:]))
    return below and (passage.kind is BlockKind.LIST or "." not in passage.text)


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
