"""What a new version of a book changes: chunks added, changed, removed."""

from dataclasses import fields, replace

import pytest

from app.domain.chunking.chunk import Chunk
from app.services.ingest_plan import Changes, compare, fingerprint
from tests.index_points import chunk, chunk_id, passage


def holding(number: int, *paragraphs: str) -> Chunk:
    return replace(chunk("book", number), paragraph_ids=paragraphs)


CASES = {
    "another text": ({1: "a"}, {2: "z"}, Changes(added=1, removed=1)),
    "one that was split": ({1: "ab"}, {2: "a", 3: "b"}, Changes(changed=2)),
    "two that were joined": ({1: "a", 2: "b"}, {3: "ab"}, Changes(changed=1)),
    "overlapping ones that moved": (
        {1: "a", 2: "ba", 3: "cb"},
        {4: "a", 5: "ba", 6: "cb"},
        Changes(changed=3),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_chunks_are_compared_by_id_and_matched_by_paragraph(name: str) -> None:
    """A chunk is written as number: paragraphs, its own before those it repeats."""
    before, after, changes = CASES[name]
    known = {chunk_id("book", number): tuple(held) for number, held in before.items()}
    assert compare(known, [holding(number, *held) for number, held in after.items()]) == changes


def altered(one: object) -> list[dict[str, object]]:
    """Return each field of a dataclass with another value of its type."""
    values = ((field.name, getattr(one, field.name)) for field in fields(one))  # type: ignore[arg-type]
    return [
        {name: (*old, "x") if isinstance(old, tuple) else old + 1 if old == 0 else f"{old}x"}
        for name, old in values
    ]


def test_every_field_of_chunk_and_passage_is_in_the_fingerprint() -> None:
    one = chunk("book", 1, [passage("p-1", "text")])
    others = [replace(one, **other) for other in altered(one)]  # type: ignore[arg-type]
    for other in altered(one.passages[0]):
        changed = replace(one.passages[0], **other)  # type: ignore[arg-type]
        others.append(replace(one, passages=(changed,)))
    assert len({fingerprint([each]) for each in (one, *others)}) == 1 + len(others)
