"""Sparse vectors of chunks and questions: words, and the terms that are defined."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.adapters.index_terms import IndexTerms
from app.domain.chunking.chunk import Chunk
from app.domain.document import BlockKind
from app.services.lexical import LexicalEncoder, chunk_vector
from tests.fake_world import make_chunk

TERMS = IndexTerms()
LEXICAL = LexicalEncoder(TERMS.of_document, TERMS.of_query)


def defining(text: str, *terms: str) -> Chunk:
    chunk = make_chunk(text)
    return replace(chunk, passages=(replace(chunk.passages[0], terms=terms),))


def shared(question: str, chunk: Chunk) -> int:
    targets = LEXICAL.definition_targets(question, "en", ())
    asked = LEXICAL.question_vector(question, "en", targets).indices
    return len(set(asked) & set(chunk_vector(chunk, TERMS.of_document).indices))


def test_italian_question_words_may_frame_a_term_or_belong_to_it() -> None:
    asked = LEXICAL.definition_targets("Come funziona Git?", "it", ())
    whole, bare = (tuple(TERMS.of_document(one, "it")) for one in ("come funziona git", "git"))
    assert asked[whole] == asked[bare] == 1.0


@pytest.mark.parametrize("thing", ["reducers", "selectors"])
def test_each_of_two_compared_things_may_be_the_term(thing: str) -> None:
    asked = LEXICAL.definition_targets("difference between reducers and selectors", "en", ())
    assert tuple(TERMS.of_document(thing, "en")) in asked


def test_words_that_the_book_lacks_are_no_part_of_the_term() -> None:
    question = "my teacher went on about cells yesterday"
    absent = TERMS.of_document("teacher yesterday", "en")
    cell = tuple(TERMS.of_document("cells", "en"))

    assert cell not in LEXICAL.definition_targets(question, "en", ())
    assert LEXICAL.definition_targets(question, "en", absent)[cell] == 0.5


@pytest.mark.parametrize(
    ("question", "meets"),
    [
        ("What is a cell?", True),
        ("Define cells.", True),
        ("cell", True),
        ("How do cells work?", True),
        ("Tell me about cells", True),
        ("What's the point of a cell?", True),
        ("whats a cell", True),
        ("What is a cell? The name tells me nothing.", True),
        ("what does a cell do and how would a plant without water look?", True),
        ("Cells?? I never saw that word before, what is it", True),
        ("What is a cell wall?", True),  # half of the question
        ("How do cells divide?", True),
        ("How do cells divide without a wall?", False),
    ],
)
def test_a_question_for_a_definition_meets_the_place_that_defines(
    question: str, *, meets: bool
) -> None:
    text = "A cell has a wall and can divide."
    more = shared(question, defining(text, "cell")) - shared(question, defining(text))
    assert more == int(meets)


@pytest.mark.parametrize(
    "heading",
    [
        "What Is a Cell?",
        "Cells",
        "4.1 Cells",
        "cell(size, wall)",
        "Definition of cell",
        "How Cells Work",
        "Cells: Where Life Begins",
        "Cell - an introduction",
    ],
)
def test_a_question_meets_the_section_that_is_named_so(heading: str) -> None:
    chunk = make_chunk("It divides.")
    title = replace(chunk.passages[0], kind=BlockKind.HEADING, text=heading)
    named = replace(chunk, passages=(title, *chunk.passages))
    assert shared("What is a cell?", named) == 2  # the word, and the name
    assert shared("How do cells divide?", named) == 3  # two words, and the name: half of them
    assert shared("How do cells divide by budding?", named) == 2  # no name


@pytest.mark.parametrize(("index", "overlap", "meets"), [(0, 0, True), (1, 0, True), (1, 9, False)])
def test_a_section_is_met_where_it_begins(index: int, overlap: int, *, meets: bool) -> None:
    chunk = replace(make_chunk("It divides.", index=index), overlap_start=overlap)
    path = ("Cells",) if index == 0 else ("Life", "Cells")
    begun = replace(chunk, passages=(replace(chunk.passages[0], heading_path=path),))
    assert shared("What is a cell?", begun) == int(meets)


def test_a_term_is_met_by_each_of_its_names() -> None:
    chunk = defining("Deoxyribonucleic acid (DNA) stores.", "deoxyribonucleic acid (DNA)")
    assert shared("What is DNA?", chunk) == 2
    assert shared("What is deoxyribonucleic acid?", chunk) == 3


@pytest.mark.parametrize("text", ["", "  ", "What is it?"])
def test_a_question_without_words_of_its_own_has_no_terms(text: str) -> None:
    assert LEXICAL.question_vector(text, "en", ()).indices == ()


def test_terms_ascend_without_repeats() -> None:
    chunk = defining("A stack, a heap and a queue.", "stack", "heap", "heap", "...")
    indices = chunk_vector(chunk, TERMS.of_document).indices
    assert list(indices) == sorted(set(indices))
