"""What a chunk repeats of the previous one, within a section and over its boundary."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest

from app.adapters.tokens import token_counter
from app.domain.chunking.chunk import Chunk
from app.domain.chunking.config import ChunkingConfig, OverlapScope, StrategyName, StructureConfig
from app.domain.chunking.guarantees import shared_spans
from app.domain.chunking.report import Report, guarantee_report
from app.domain.chunking.strategies import stream_chunks
from app.domain.document import BlockKind, Document
from app.domain.retrieval.context_assembly import assemble
from app.domain.retrieval.query import Hit
from tests.chunking_documents import MAKERS, Made, book_of, paragraph, place, tools

PAGE, SECTION = (
    ChunkingConfig(structure=StructureConfig(overlap_scope=scope)) for scope in OverlapScope
)


def chunk(document: Document, config: ChunkingConfig = PAGE) -> list[Chunk]:
    return list(stream_chunks(document, book_of(document), config, tools()))


def report(document: Document, config: ChunkingConfig = PAGE) -> Report:
    chunks = chunk(document, config)
    return guarantee_report(book_of(document), chunks, tools(), config.structure)


def heading(text: str) -> Made:
    return Made(BlockKind.HEADING, "## " + text, text, level=2)


def prose(sentences: int, seed: int) -> Made:
    text = paragraph(Random(seed), sentences)
    return Made(BlockKind.PARAGRAPH, text, text)


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
        (start, end), *_ = shared_spans(before, after)
        assert before.text_content.endswith(document.source[start:end])
        assert after.text_content.startswith(document.source[start:end])
        assert after.overlap_start <= after.token_count / 4


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        ("The error is a `Box<dyn Error>` here.", "The error is a Box<dyn Error> here."),
        ("Its [x*<sup>w</sup>*](#a) stays.", "Its xw stays."),
        ("Not `<b>` {odd}[[ stays.", None),
    ],
    ids=["code", "emphasis in a word", "not certain"],
)
def test_what_is_repeated_is_what_a_reader_sees_or_nothing(source: str, seen: str | None) -> None:
    before = paragraph(Random(3), 24)
    text = f"{before} {seen or 'Something else.'}"
    document = place(
        [Made(BlockKind.PARAGRAPH, f"{before} {source}", text), heading("Next"), prose(40, 5)]
    )
    repeated = [p for each in chunk(document)[1:2] for p in each.passages[:1]]
    assert not any(passage.verbatim for each in chunk(document) for passage in each.passages)
    assert any(passage.text.endswith(str(seen)) for passage in repeated) == (seen is not None)


def test_text_repeated_from_another_section_keeps_its_heading_and_gives_none() -> None:
    _, second, _ = chunk(sections())
    assert second.heading_path == ("Part 1",)
    assert second.passages[0].heading_path == ("Part 0",)
    assert second.paragraph_id != second.passages[0].paragraph_id
    assert {each.heading_path for each in second.own_passages} == {("Part 1",)}
    assert second.passages[-len(second.own_passages) :] == second.own_passages


def test_text_repeated_from_its_own_section_is_its_own() -> None:
    _, second, *_ = chunk(place([prose(6, n) for n in range(12)]))
    assert second.overlap_start
    assert second.own_passages == second.passages


def test_within_sections_no_boundary_is_crossed() -> None:
    assert not any(each.overlap_start for each in chunk(sections(), SECTION))


def test_the_scope_of_before_it_was_a_setting_keeps_every_id() -> None:
    # The fingerprint of the default settings without the field.
    assert SECTION.fingerprint() == "b26ea9cf0f912ba6"
    assert PAGE.fingerprint() != SECTION.fingerprint()
    assert PAGE.fingerprint(StrategyName.LATE) == SECTION.fingerprint(StrategyName.LATE)


@pytest.mark.parametrize("scope", OverlapScope)
def test_the_cut_points_are_those_of_either_scope(scope: OverlapScope) -> None:
    config = ChunkingConfig(structure=StructureConfig(overlap_scope=scope))
    ends = [each.char_end for each in chunk(sections(6), config)]
    assert ends == [each.char_end for each in chunk(sections(6), SECTION)]


@pytest.mark.parametrize("kind", [BlockKind.EXERCISE, BlockKind.SOLUTION, BlockKind.GLOSSARY_ENTRY])
def test_exercises_solutions_and_glossary_entries_are_never_repeated(kind: BlockKind) -> None:
    made = [MAKERS[kind](Random(n), 2, "en") for n in range(30)]
    halves = [heading("One"), *made[:15], heading("Two"), *made[15:]]
    document = place([heading("Text"), prose(6, 1), *halves, heading("More"), prose(6, 2)])
    chunks = chunk(document)
    assert len(chunks) > 3
    repeated = [p for each in chunks if each.overlap_start for p in each.passages[:1]]
    assert kind not in {passage.kind for passage in repeated}
    assert not any(report(document).breaches.values())


def test_a_chunk_of_solutions_between_two_sections_parts_them() -> None:
    """Their overlap would equal no neighbour's."""
    solution = MAKERS[BlockKind.SOLUTION](Random(1), 2, "en")
    made = [heading("A"), *(prose(6, n) for n in range(4)), solution]
    made += [heading("B"), *(prose(6, n) for n in range(9, 13))]
    chunks = chunk(place(made))
    assert [each.content_type for each in chunks] == ["paragraph", "solution", "paragraph"]
    assert not any(each.overlap_start for each in chunks)


def test_the_report_counts_the_pairs_that_could_overlap() -> None:
    across, within = report(sections(5)), report(sections(5), SECTION)
    assert (across.pairs, across.sharing) == (4, 1.0)
    assert (within.pairs, within.sharing) == (4, 0.0)
    assert not any((*across.breaches.values(), *within.breaches.values()))


def test_the_report_finds_an_exercise_that_is_repeated_and_a_wrong_heading() -> None:
    document = sections()
    chunks = chunk(document)
    blocks = tuple(
        replace(each, kind=BlockKind.EXERCISE)
        if each.paragraph_id == chunks[1].passages[0].paragraph_id
        else each
        for each in document.blocks
    )
    exercises = replace(document, blocks=blocks)
    found = guarantee_report(book_of(exercises), chunks, tools()).breaches["overlap"]
    assert any("repeats an exercise" in each for each in found)
    passage = replace(chunks[1].passages[0], heading_path=("Part 1",))
    damaged = replace(chunks[1], passages=(passage, *chunks[1].passages[1:]))
    found = guarantee_report(book_of(document), [chunks[0], damaged, chunks[2]], tools()).breaches[
        "passages"
    ]
    assert [each.split(" ", 3)[-1] for each in found] == ["a passage is under a wrong heading"]


def test_a_context_has_repeated_text_once_and_under_its_own_heading() -> None:
    chunks = chunk(sections())
    hits = [Hit(chunks[1], 0.9), Hit(chunks[0], 0.5)]
    context = assemble(hits, 5_000, token_counter())
    texts = [one.passage.text for one in context]
    assert len(set(texts)) == len(texts)
    assert [one.section for one in context] == ["Part 1"] * 4 + ["Part 0"] * 4


def test_text_of_another_section_comes_last_in_a_context() -> None:
    second = chunk(sections())[1]
    context = assemble([Hit(second, 0.9)], 5_000, token_counter())
    assert [one.section for one in context] == ["Part 1"] * 4 + ["Part 0"]
    tight = assemble([Hit(second, 0.9)], second.token_count - second.overlap_start, token_counter())
    assert {one.section for one in tight} == {"Part 1"}
