"""What a new version of a book changes: chunks added, changed, removed."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from app.domain.chunking.chunk import Chunk, Passage
from app.services.ingest_plan import Changes, compare, fingerprint
from tests.index_points import chunk, chunk_id, passage


def holding(number: int, *paragraphs: str) -> Chunk:
    return replace(chunk("book", number), paragraph_ids=paragraphs)


CASES = {
    "a first version": ({}, {1: "a", 2: "b"}, Changes(added=2)),
    "the same again": ({1: "a", 2: "b"}, {1: "a", 2: "b"}, Changes()),
    "an edited chunk": ({1: "a", 2: "b"}, {1: "a", 3: "b"}, Changes(changed=1)),
    "a removed one": ({1: "a", 2: "b"}, {1: "a"}, Changes(removed=1)),
    "another text": ({1: "a"}, {2: "z"}, Changes(added=1, removed=1)),
    "one that was split": ({1: "ab"}, {2: "a", 3: "b"}, Changes(changed=2)),
    "two that were joined": ({1: "a", 2: "b"}, {3: "ab"}, Changes(changed=1)),
    "overlapping ones that moved": (
        {1: "a", 2: "ba", 3: "cb"},
        {4: "a", 5: "ba", 6: "cb"},
        Changes(changed=3),
    ),
    "all gone": ({1: "a"}, {}, Changes(removed=1)),
}


@pytest.mark.parametrize("name", CASES)
def test_chunks_are_compared_by_id_and_matched_by_paragraph(name: str) -> None:
    """A chunk is written as number: paragraphs, its own before those it repeats."""
    before, after, changes = CASES[name]
    known = {chunk_id("book", number): tuple(held) for number, held in before.items()}
    assert compare(known, [holding(number, *held) for number, held in after.items()]) == changes


OTHERS: dict[str, object] = {
    "passages": (passage("p-other", "other"),),
    "spans": ((1, 2),),
    "context": (),
    "paragraph_ids": ("p-other",),
    "heading_path": ("Other",),
}


@pytest.mark.parametrize("name", [field.name for field in fields(Chunk)])
def test_every_field_of_a_chunk_is_in_the_fingerprint(name: str) -> None:
    one = chunk("book", 1)
    old = getattr(one, name)
    other = OTHERS.get(name, old + 1 if isinstance(old, int) else f"{old} other")
    changed = replace(one, **{name: other})  # type: ignore[arg-type]
    assert fingerprint([changed]) != fingerprint([one])


@pytest.mark.parametrize("name", [field.name for field in fields(Passage)])
def test_every_field_of_a_passage_is_in_the_fingerprint(name: str) -> None:
    one = passage("p-1", "text")
    old = getattr(one, name)
    other = (*old, "x") if isinstance(old, tuple) else not old if old is False else f"{old}x"
    changed = replace(one, **{name: other})  # type: ignore[arg-type]
    assert fingerprint([chunk("book", 1, [changed])]) != fingerprint([chunk("book", 1, [one])])


def test_order_and_settings_are_in_the_fingerprint() -> None:
    one, two = chunk("book", 1), chunk("book", 2)
    assert fingerprint([one, two], "model", 8) == fingerprint([one, two], "model", 8)
    assert fingerprint([one, two], "model", 8) != fingerprint([two, one], "model", 8)
    assert fingerprint([one, two], "model", 8) != fingerprint([one, two], "model", 9)
