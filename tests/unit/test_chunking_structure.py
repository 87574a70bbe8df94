"""What the structure strategy guarantees of every book, how it cuts and packs, what it repeats."""

import uuid
from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.chunking.chunk import Chunk
from app.domain.chunking.config import ChunkingConfig, PackingConfig, StrategyName
from app.domain.chunking.strategies import stream_chunks
from app.domain.document import BlockKind, Document
from tests.chunking_documents import Made, book_of, documents, heading, made, place, prose, tools
from tests.chunking_oracle import breaches, repeated_text

CONFIG = ChunkingConfig()
LONGEST = CONFIG.structure.maximum


def chunk(document: Document, config: ChunkingConfig = CONFIG) -> list[Chunk]:
    return list(stream_chunks(document, book_of(document), config, tools()))


@settings(max_examples=60)
@given(documents())
def test_every_guarantee_holds_of_any_document(document: Document) -> None:
    assert breaches(document, chunk(document)) == {}


@settings(max_examples=25)
@given(documents(), st.sampled_from([(50, 200, 20, 250, 20), (300, 900, 200, 1200, 0)]))
def test_the_guarantees_hold_at_other_sizes(
    document: Document, sizes: tuple[int, int, int, int, int]
) -> None:
    config = PackingConfig(*sizes)
    chunks = chunk(document, ChunkingConfig(structure=config))
    assert breaches(document, chunks, config) == {}


@settings(max_examples=20)
@given(st.lists(documents(), min_size=2, max_size=3))
def test_chunks_do_not_depend_on_the_run_or_on_other_files(several: list[Document]) -> None:
    placed = [replace(document, file=f"{n}.md") for n, document in enumerate(several)]
    forward = [chunk(document) for document in placed]
    backward = [chunk(document) for document in reversed(placed)]
    assert forward == backward[::-1]
    ids = [each.chunk_id for chunks in forward for each in chunks]
    assert len(set(ids)) == len(ids)
    assert {uuid.UUID(each).version for each in ids} <= {5}


@pytest.mark.parametrize("seed", range(12))
def test_rewording_a_paragraph_changes_only_the_chunks_that_hold_it(seed: int) -> None:
    random = Random(seed)
    sections = [
        [heading(f"Section {n}"), *(prose(5, seed * 99 + n * 9 + i) for i in range(6))]
        for n in range(8)
    ]
    blocks = [each for section in sections for each in section]
    number = random.choice(
        [n for n, block in enumerate(blocks) if block.kind is BlockKind.PARAGRAPH]
    )
    words = blocks[number].text.split(" ")
    words[random.randrange(1, len(words) - 1)] = "other"
    old = chunk(place(blocks))
    blocks[number] = Made(BlockKind.PARAGRAPH, " ".join(words))
    document = place(blocks)
    new = chunk(document)
    changed = {each.chunk_id for each in old} ^ {each.chunk_id for each in new}
    assert changed
    paragraph_id = document.blocks[number].paragraph_id
    for each in (*old, *new):
        if each.chunk_id in changed:
            assert paragraph_id in each.paragraph_ids


def test_a_long_table_is_split_between_rows_with_its_header_repeated() -> None:
    document = place([made(BlockKind.TABLE, 150)])
    chunks = chunk(document)
    assert len(chunks) > 2
    for each in chunks:
        assert each.text_content.startswith("Term | Count\n")
        assert [len(passage.own_text.split("\n")) > 1 for passage in each.passages] == [True]
    assert "\n".join(each.passages[0].own_text for each in chunks) == document.blocks[0].text


def test_a_long_list_is_split_between_items() -> None:
    document = place([made(BlockKind.LIST, 40)])
    chunks, items = chunk(document), document.blocks[0].text.split("\n")
    assert len(chunks) > 2
    for each in chunks[1:]:
        assert set(each.text_content.split("\n")[1:]) <= {*items}


def test_long_code_is_split_at_blank_lines_before_top_level_statements() -> None:
    functions = [
        "\n".join([f"def f{n}(x):", *(f"    x = x * {i} + {n}" for i in range(9)), "    return x"])
        for n in range(30)
    ]
    chunks = chunk(place([Made(BlockKind.CODE, "\n\n".join(functions))]))
    assert len(chunks) > 2
    for each in chunks[1:]:
        assert each.text_content.startswith("def f")
    assert all(each.token_count <= LONGEST for each in chunks)


def test_a_single_endless_line_is_cut_within_the_bound_and_nothing_is_lost() -> None:
    for raw in ("x" * 9_000, "ab " * 3_000, "😀" * 2_000, "語" * 3_000, "龘" * 600):
        document = place([Made(BlockKind.CODE, raw)])
        chunks = chunk(document)
        assert all(each.token_count <= LONGEST for each in chunks)
        assert "".join(each.text_content for each in chunks).replace(" ", "") == raw.replace(
            " ", ""
        )


def test_small_sections_share_a_chunk_and_the_chunk_stands_under_what_they_share() -> None:
    document = place(
        [
            heading("Page", 1),
            *(each for n in range(6) for each in (heading(f"Part {n}"), prose(2, n))),
        ]
    )
    chunks = chunk(document)
    assert len(chunks) < 4
    assert chunks[0].heading_path == ("Page",)
    assert chunks[0].section == "Page"
    assert "Part 1" in chunks[0].text_content
    assert chunks[0].embedding_text.startswith("Page\n\n")


@pytest.mark.parametrize("strategy", ["structure", "sentence", "fixed"])
def test_kinds_that_are_left_out_take_headings_along_that_have_nothing_else(strategy: str) -> None:
    document = place(
        [
            heading("Text"),
            prose(3),
            heading("Glossary"),
            made(BlockKind.GLOSSARY_ENTRY, 1),
            heading("More", 3),
            made(BlockKind.GLOSSARY_ENTRY, 2),
            heading("End"),
            prose(3, 2),
        ]
    )
    config = ChunkingConfig(StrategyName(strategy), exclude=(BlockKind.GLOSSARY_ENTRY,))
    text = str([(each.heading_path, each.text_content) for each in chunk(document, config)])
    assert "Text" in text
    assert "End" in text
    assert "Glossary" not in text
    assert "'More'" not in text


def test_a_heading_before_what_fills_a_chunk_is_said_by_the_heading_path() -> None:
    """A table of almost the greatest size stays whole, and no heading ends the chunk before."""
    count = tools().count_tokens
    table = next(
        each for n in range(90, 1, -1) if count((each := made(BlockKind.TABLE, n)).text) <= LONGEST
    )
    long_heading = heading("A heading of " + "many words " * 20)
    chunks = chunk(place([prose(20), long_heading, table]))
    assert chunks[-1].text_content == table.text
    assert chunks[-1].heading_path == (long_heading.text,)
    assert not any(each.text_content.endswith("many words ") for each in chunks)


def sections() -> Document:
    """Sections of one chunk each, of several paragraphs."""
    made = ([heading(f"Part {n}"), *(prose(6, n * 9 + i) for i in range(4))] for n in range(3))
    return place([block for each in made for block in each])


@pytest.mark.parametrize(
    ("text", "follows"),
    [("We get", True), ("We get it.", False), ("यह सूत्र है।", False), ("**次の式である．**", False)],
)
def test_a_formula_that_completes_no_sentence_may_begin_a_chunk(
    text: str, *, follows: bool
) -> None:
    before = Made(BlockKind.PARAGRAPH, f"{'x ' * 300}. {text}")
    formula = Made(BlockKind.MATH, "x = y + z " * 60)
    chunks = chunk(place([before, formula, formula]))
    assert (
        any(text in one.text_content and "y + z" in one.text_content for one in chunks) == follows
    )


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
