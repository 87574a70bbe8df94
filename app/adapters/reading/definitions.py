"""Definition lists: entries of a glossary, and references of functions, options and fields."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from lxml.html import HtmlElement

from app.adapters.reading.drafts import Draft, compose, span_of
from app.adapters.reading.tree import own_id
from app.domain.document import RUN_BOUNDARY, BlockKind

_ARGUMENTS = re.compile(r"\s*\(| = ")
"""Begins what follows a name in a signature."""

Entry: TypeAlias = tuple[HtmlElement, list[Draft]]
"""A `dt` or `dd` and the blocks inside it."""


def glossary_drafts(inside: Sequence[Entry]) -> list[Draft]:
    """Return an entry for each run of terms and definitions."""
    entries: list[Draft] = []
    terms: list[Draft] = []
    definitions: list[list[Draft]] = []
    for child, drafts in inside:
        if child.tag == "dd":
            definitions.append(drafts)
            continue
        if definitions:
            entries.append(_entry(terms, definitions))
            terms, definitions = [], []
        terms += drafts
    if definitions:
        entries.append(_entry(terms, definitions))
        terms = []
    return [*(one for one in entries if one.text), *terms]


def reference_drafts(inside: Sequence[Entry]) -> list[Draft]:
    """Return the blocks of a reference, each with the function or option that it documents.

    A field and its value are one block: "Default: 80".
    """
    found: list[Draft] = []
    field: list[Draft] = []
    signature: tuple[tuple[str, str], ...] = ()
    for child, drafts in inside:
        is_field = child.tag == "dt" and bool(drafts) and drafts[0].text.endswith(":")
        if child.tag == "dt" and drafts and not is_field:
            signature = (_signature(drafts[0].text, child),)
        own = [replace(one, signatures=signature + one.signatures) for one in drafts]
        if child.tag == "dd" and len(field) == 1 and [one.kind for one in own] == [field[0].kind]:
            found[-1] = _field(field[0], own[0])
        else:
            found += own
        field = own if is_field else []
    return [one for one in found if one.text]


def _signature(text: str, element: HtmlElement) -> tuple[str, str]:
    """Return the name, without arguments, and the id of what a reference documents."""
    return _ARGUMENTS.split(" ".join(text.split()), maxsplit=1)[0], own_id(element)


def _field(name: Draft, value: Draft) -> Draft:
    return replace(
        value,
        text=f"{name.text} {value.text}",
        runs=f"{name.runs}{RUN_BOUNDARY}{value.runs}",
        span=span_of([name, value]),
        element_id=name.element_id or value.element_id,
    )


def _entry(terms: list[Draft], definitions: list[list[Draft]]) -> Draft:
    """Return a glossary entry: its terms, each on a line, then its definitions."""
    names = [" ".join(one.text.split()) for one in terms]
    meanings = [compose(BlockKind.GLOSSARY_ENTRY, one) for one in definitions]
    return replace(
        meanings[0],
        text="\n".join([*names, *(one.text for one in meanings)]),
        runs=RUN_BOUNDARY.join([*names, *(one.runs for one in meanings)]),
        span=span_of(meanings),
        terms=tuple(names),
        parts=[part for one in meanings for part in one.parts],
        element_id=next((one.element_id for one in (*terms, *meanings) if one.element_id), ""),
    )
