"""The terms whose definition a question asks for, and the chunks that define or are named so."""

from dataclasses import replace

import pytest

from app.adapters.index_terms import IndexTerms
from app.domain.chunking.chunk import Chunk
from app.domain.document import BlockKind
from app.domain.retrieval.chunk_terms import chunk_terms
from app.services.lexical import LexicalEncoder, chunk_vector
from tests.fake_world import make_chunk

TERMS = IndexTerms()
LEXICAL = LexicalEncoder(TERMS.of_document, TERMS.of_query)


def defining(text: str, *terms: str) -> Chunk:
    chunk = make_chunk(text)
    return replace(chunk, passages=(replace(chunk.passages[0], terms=terms),))


def meets(question: str, chunk: Chunk) -> bool:
    """Whether the chunk defines a term that the question may ask for, or a section is named so."""
    held = chunk_terms(chunk, TERMS.of_document)
    targets = LEXICAL.definition_targets(question, "en", ())
    return not targets.keys().isdisjoint(held.defined | held.headed)


def test_a_question_and_its_definition_share_a_term_of_the_index() -> None:
    def shared(chunk: Chunk) -> int:
        targets = LEXICAL.definition_targets("What is a cell?", "en", ())
        asked = LEXICAL.question_vector("What is a cell?", "en", targets)
        return len({*asked.indices} & {*chunk_vector(chunk, TERMS.of_document).indices})

    text = "A cell has a wall."
    assert shared(defining(text, "cell")) == shared(defining(text)) + 1


def test_italian_question_words_may_frame_a_term_or_belong_to_it() -> None:
    asked = LEXICAL.definition_targets("Come funziona Git?", "it", ())
    whole, bare = (tuple(TERMS.of_document(one, "it")) for one in ("come funziona git", "git"))
    assert asked[whole] == asked[bare] == 1.0


@pytest.mark.parametrize(
    ("before", "term", "language"),
    [
        ("I read the book. What is a ", "cell", "en"),
        ("मैंने कल पढ़ा। ", "कोशिका", "hi"),
        ("میں نے کل پڑھا۔ ", "خلیہ", "ur"),
        ("昨日第三章を読みました。", "細胞", "ja"),
    ],
)
def test_a_sentence_may_ask_for_a_term_in_any_script(before: str, term: str, language: str) -> None:
    asked = LEXICAL.definition_targets(before + term, language, ())
    assert asked[tuple(TERMS.of_document(term, language))] == 1.0


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
    ("question", "asks"),
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
    question: str, *, asks: bool
) -> None:
    assert meets(question, defining("A cell has a wall and can divide.", "cell")) == asks


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
    assert meets("What is a cell?", named)
    assert meets("How do cells divide?", named)  # half of the words
    assert not meets("How do cells divide by budding?", named)


@pytest.mark.parametrize(
    ("index", "overlap", "begins"), [(0, 0, True), (1, 0, True), (1, 9, False)]
)
def test_a_section_is_met_where_it_begins(index: int, overlap: int, *, begins: bool) -> None:
    chunk = replace(make_chunk("It divides.", index=index), overlap_start=overlap)
    path = ("Cells",) if index == 0 else ("Life", "Cells")
    begun = replace(chunk, passages=(replace(chunk.passages[0], heading_path=path),))
    assert meets("What is a cell?", begun) == begins


def test_a_term_is_met_by_each_of_its_names() -> None:
    chunk = defining("Deoxyribonucleic acid (DNA) stores.", "deoxyribonucleic acid (DNA)")
    assert meets("What is DNA?", chunk)
    assert meets("What is deoxyribonucleic acid?", chunk)


@pytest.mark.parametrize("text", ["", "  ", "What is it?"])
def test_a_question_without_words_of_its_own_has_no_terms(text: str) -> None:
    assert LEXICAL.query_vector(text, "en").indices == ()
