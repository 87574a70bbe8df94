"""Definition lists: entries of a glossary, and references of functions, options and fields."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import TypeAlias

from lxml.html import HtmlElement

from app.adapters.reading.drafts import EDGE, Draft, compose, span_of
from app.adapters.reading.tree import own_id
from app.domain.document import BlockKind

_ARGUMENTS = re.compile(r"\s*\(| = ")
"""Begins what follows a name in a signature."""

Entry: TypeAlias = tuple[HtmlElement, list[Draft]]
"""A `dt` or `dd` and the blocks inside it."""


def glossary_drafts(inside: Sequence[Entry]) -> list[Draft]:
    """Return an entry for each run of terms and definitions."""
    found: list[Draft] = []
    terms: list[Draft] = []
    for tag, run in groupby(inside, key=lambda entry: entry[0].tag):
        drafts = [draft for _, own in run for draft in own]
        if tag == "dd":
            found.append(_entry(terms, drafts))
        terms = drafts if tag == "dt" else []
    return [*found, *terms]


def _entry(terms: Sequence[Draft], definitions: Sequence[Draft]) -> Draft:
    """Return a glossary entry: its terms, each on a line, then its definitions."""
    names = [" ".join(one.text.split()) for one in terms]
    meaning = compose(BlockKind.GLOSSARY_ENTRY, definitions)
    ids = (one.element_id for one in (*terms, meaning))
    return replace(
        meaning,
        marked="\n".join([*names, meaning.marked]),
        terms=tuple(names),
        element_id=next(filter(None, ids), ""),
    )


def reference_drafts(inside: Sequence[Entry]) -> list[Draft]:
    """Return the blocks of a reference, each with the function or option that it documents.

    A field and its value are one block: "Default: 80".
    """
    found: list[Draft] = []
    field: Draft | None = None
    signature: tuple[tuple[str, str], ...] = ()
    for child, drafts in inside:
        is_field = child.tag == "dt" and bool(drafts) and drafts[0].text.endswith(":")
        if child.tag == "dt" and drafts and not is_field:
            name = _ARGUMENTS.split(" ".join(drafts[0].text.split()), maxsplit=1)[0]
            signature = ((name, own_id(child)),)
        own = [replace(one, signatures=signature + one.signatures) for one in drafts]
        if child.tag == "dd" and field and [one.kind for one in own] == [field.kind]:
            own = [_field(field, own[0])]
            found.pop()
        found += own
        field = own[0] if is_field and len(own) == 1 else None
    return found


def _field(name: Draft, value: Draft) -> Draft:
    return replace(
        value,
        marked=f"{name.marked}{EDGE} {value.marked}",
        span=span_of([name, value]),
        element_id=name.element_id or value.element_id,
    )
