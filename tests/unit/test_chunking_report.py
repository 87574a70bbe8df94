"""The guarantee report finds what is broken, each kind by its name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest

from app.domain.chunking.chunk import Chunk
from app.domain.chunking.config import ChunkingConfig
from app.domain.chunking.report import guarantee_report
from app.domain.chunking.strategies import stream_chunks
from app.domain.document import Block, BlockKind, Document
from tests.chunking_documents import MAKERS, Made, book_of, place, tools

_LEAD_IN = Made(BlockKind.PARAGRAPH, "The list is as follows:", "The list is as follows:")


def _document() -> Document:
    kinds = [BlockKind.HEADING, *[BlockKind.PARAGRAPH] * 8, BlockKind.LIST]
    made = [MAKERS[kind](Random(n), 5, "en") for n, kind in enumerate(kinds * 3)]
    made[9:9] = [_LEAD_IN]
    return place([*made, MAKERS[BlockKind.GLOSSARY_ENTRY](Random(1), 2, "en")])


DOCUMENT = _document()
CHUNKS = list(stream_chunks(DOCUMENT, book_of(DOCUMENT), ChunkingConfig(), tools()))


def _cut(chunk: Chunk, start: int, end: int) -> Chunk:
    """The chunk with only this stretch of the source, and all else true of it."""
    text = DOCUMENT.source[start:end]
    tokens = tools().count_tokens(text)
    return replace(
        chunk,
        text_content=text,
        token_count=tokens,
        spans=((start, end),),
        overlap_start=0,
        overlap_end=0,
    )


def _heading_end() -> int:
    return [b.end for b in DOCUMENT.blocks if b.kind is BlockKind.HEADING][1]


def _list_middle() -> int:
    block = next(b for b in DOCUMENT.blocks if b.kind is BlockKind.LIST)
    return block.parts[2].end


def _lead_in_end() -> int:
    return next(b.end for b in DOCUMENT.blocks if b.text == _LEAD_IN.text)


_DAMAGE: dict[str, Callable[[], list[Chunk]]] = {
    "verbatim": lambda: [replace(CHUNKS[0], text_content="Other words."), *CHUNKS[1:]],
    "coverage": lambda: CHUNKS[1:],
    "integrity": lambda: [
        _cut(CHUNKS[0], 0, _list_middle()),
        _cut(CHUNKS[1], _list_middle() + 1, len(DOCUMENT.source) - 2),
    ],
    "size": lambda: [
        replace(CHUNKS[0], token_count=CHUNKS[0].token_count + 1),
        *CHUNKS[1:],
    ],
    "sentences": lambda: [
        _cut(CHUNKS[0], 0, DOCUMENT.blocks[1].end - 5),
        _cut(CHUNKS[1], DOCUMENT.blocks[1].end - 5, len(DOCUMENT.source) - 2),
    ],
    "overlap": lambda: [replace(CHUNKS[0], overlap_end=CHUNKS[0].overlap_end + 1), *CHUNKS[1:]],
    "headings": lambda: [_cut(CHUNKS[0], 0, _heading_end()), *CHUNKS],
    "lead-ins": lambda: [
        _cut(CHUNKS[0], 0, _lead_in_end()),
        _cut(CHUNKS[1], _lead_in_end() + 2, len(DOCUMENT.source) - 2),
    ],
    "minimum": lambda: [
        _cut(CHUNKS[0], 0, DOCUMENT.blocks[1].end),
        _cut(CHUNKS[0], DOCUMENT.blocks[2].start, CHUNKS[0].char_end),
        *CHUNKS[1:],
    ],
    "purity": lambda: [
        *CHUNKS[:-2],
        replace(CHUNKS[-2], passages=CHUNKS[-2].passages + CHUNKS[-1].passages),
        CHUNKS[-1],
    ],
    "passages": lambda: [
        replace(
            CHUNKS[0],
            passages=(replace(CHUNKS[0].passages[0], verbatim=True, text="Not it."),),
        ),
        *CHUNKS[1:],
    ],
    "identity": lambda: [*CHUNKS, CHUNKS[-1]],
}


def test_the_undamaged_chunks_break_nothing() -> None:
    report = guarantee_report(book_of(DOCUMENT), CHUNKS, tools())
    assert not any(report.breaches.values())
    assert set(report.breaches) == set(_DAMAGE)


@pytest.mark.parametrize("guarantee", _DAMAGE)
def test_each_damage_is_found_and_told_with_its_place(guarantee: str) -> None:
    report = guarantee_report(book_of(DOCUMENT), _DAMAGE[guarantee](), tools())
    assert report.breaches[guarantee]
    assert all(found.startswith("a.md:") for found in report.breaches[guarantee])


def test_the_report_measures_sizes_and_overlap() -> None:
    report = guarantee_report(book_of(DOCUMENT), CHUNKS, tools())
    assert report.chunks == len(CHUNKS)
    assert report.tokens == sum(each.token_count for each in CHUNKS)
    assert report.smallest <= report.mean_tokens <= report.largest <= 700
    assert report.overlapping == sum(each.overlap_start > 0 for each in CHUNKS) > 0
    assert 0.1 <= report.overlap <= 0.25
    assert sum(report.content_types.values()) == len(CHUNKS)
    doubled = guarantee_report(book_of(DOCUMENT), [*CHUNKS, CHUNKS[0]], tools())
    assert doubled.duplicates == report.duplicates + 1


def test_no_chunks_are_a_report_too() -> None:
    report = guarantee_report(book_of(place([])), [], tools())
    assert report.chunks == 0
    assert not any(report.breaches.values())


def _including(*pulled: tuple[BlockKind, str]) -> Document:
    """A page with a directive that includes these blocks of another file."""
    directive = Made(BlockKind.PARAGRAPH, "{{#include owls.md}}", "")
    document = place([MAKERS[BlockKind.PARAGRAPH](Random(1), 3, "en"), directive])
    before, place_of_all = document.blocks
    included: list[Block] = [
        replace(
            place_of_all,
            kind=kind,
            text=text,
            level=2 if kind is BlockKind.HEADING else 0,
            start=place_of_all.end if number else place_of_all.start,
            paragraph_id=f"p-{number}",
            included="owls.md",
        )
        for number, (kind, text) in enumerate(pulled)
    ]
    return replace(document, blocks=(before, *included))


def test_included_blocks_are_not_looked_up_by_their_span() -> None:
    document = _including(
        *[(BlockKind.PARAGRAPH, "Owls fly at night. " * 60)] * 6,
        (BlockKind.PARAGRAPH, "The owls are:"),
        (BlockKind.LIST, "- the barn owl"),
        (BlockKind.HEADING, "More owls"),
        (BlockKind.PARAGRAPH, "There are more."),
        (BlockKind.HEADING, "Other birds"),
        (BlockKind.HEADING, "None"),
    )
    chunks = list(stream_chunks(document, book_of(document), ChunkingConfig(), tools()))
    assert len(chunks) > 2
    report = guarantee_report(book_of(document), chunks, tools())
    assert not any(report.breaches.values())


def test_a_short_chunk_next_to_one_that_is_all_overlap_is_no_breach() -> None:
    document = _including((BlockKind.CODE, "hoot()\n" * 900))
    *chunks, last = stream_chunks(document, book_of(document), ChunkingConfig(), tools())
    assert len(chunks) > 1
    report = guarantee_report(book_of(document), [*chunks, replace(last, token_count=5)], tools())
    assert not report.breaches["minimum"]
