"""What a chunk repeats of the previous one, within a section and over its boundary."""

from __future__ import annotations

from itertools import pairwise

from app.domain.chunking.chunk import Chunk
from app.domain.chunking.config import ChunkingConfig
from app.domain.chunking.strategies import stream_chunks
from app.domain.document import Document
from tests.chunking_documents import book_of, heading, place, prose, tools
from tests.chunking_oracle import repeated_text


def chunk(document: Document) -> list[Chunk]:
    return list(stream_chunks(document, book_of(document), ChunkingConfig(), tools()))


def sections(count: int = 3) -> Document:
    """Sections of one chunk each, of several paragraphs."""
    made = ([heading(f"Part {n}"), *(prose(6, n * 9 + i) for i in range(4))] for n in range(count))
    return place([block for each in made for block in each])


def test_a_section_begins_with_the_end_of_the_previous_one() -> None:
    document = sections()
    chunks = chunk(document)
    assert [each.section for each in chunks] == ["Part 0", "Part 1", "Part 2"]
    for before, after in pairwise(chunks):
        assert before.overlap_end == after.overlap_start > 0
        assert repeated_text(before, after)
        assert after.overlap_start <= after.token_count / 4


def test_text_repeated_from_another_section_keeps_its_heading_and_gives_none() -> None:
    _, second, _ = chunk(sections())
    _, same_section, *_ = chunk(place([prose(6, n) for n in range(12)]))
    assert same_section.overlap_start
    assert same_section.own_passages == same_section.passages
    assert second.heading_path == ("Part 1",)
    assert second.passages[0].heading_path == ("Part 0",)
    assert second.paragraph_id != second.passages[0].paragraph_id
    assert set(second.paragraph_ids) == {one.paragraph_id for one in second.passages}
    assert {each.heading_path for each in second.own_passages} == {("Part 1",)}
    assert second.passages[-len(second.own_passages) :] == second.own_passages
