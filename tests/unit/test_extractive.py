"""Answers made of the book's own sentences: what is chosen, how it is joined."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.answering.extractive import ExtractiveAnswer, whole
from app.domain.answering.question_analysis import asked_kinds, name_asked
from app.domain.answering.units import MAX_UNIT_WORDS, list_items
from app.domain.document import BlockKind
from app.domain.scripts import word_count
from app.domain.search_text import search_text
from app.domain.terms import words
from tests.fake_world import context_of, extracted, in_order, passage, terms, unit_texts
from tests.recorded_cases import case_lines

CELL = passage(
    "Plants are made of cells. The mitochondrion is the organelle that makes ATP from sugar. "
    "Some cells have thousands of them.",
    "p-cell",
    terms=("mitochondrion",),
)
STORY = passage("The mitochondrion was first seen in 1890 by Richard Altmann.", "p-story")
GLOSSARY = passage(
    "mitochondrion : organelle that makes ATP. Plural: mitochondria.",
    "p-glossary",
    BlockKind.GLOSSARY_ENTRY,
    terms=("mitochondrion",),
)
INTRODUCTION = passage("Building an index takes three steps:", "p-intro")
STEPS = passage(
    "1. Split the text into tokens.\n2. Sort the tokens.\n3. Write the posting lists.\n"
    "  - one list a term",
    "p-steps",
    BlockKind.LIST,
)
CODE = passage("def tokenize(text):\n    return text.split()", "p-code", BlockKind.CODE)
TABLE = "Method | Speed\nBM25 | fast\nDense | slow"


def marked(found: ExtractiveAnswer) -> list[str]:
    """The marked texts of the passages, in order."""
    return [one.text[start:end] for one in found.passages for start, end in one.marks]


def test_definition_comes_from_the_place_that_marks_the_term() -> None:
    found = extracted("What is the mitochondrion?", STORY, CELL)
    assert marked(found) == ["The mitochondrion is the organelle that makes ATP from sugar."]


def test_a_long_entry_of_the_glossary_is_quoted_by_its_sentences_without_its_listing() -> None:
    listing = "```\ntype Oven = (dough: Dough) =>\n  Bread\n```"
    first = "An oven (also called a stove) is a broad term for what bakes."
    further = "Some are of clay and stand outside. " * 20
    entry = passage(
        f"{listing}\n\n{first} Ask your baker.\n\n{further}\n\nOvens differ in heat.",
        "p-oven",
        BlockKind.GLOSSARY_ENTRY,
        terms=("Oven",),
    )
    told = passage("An oven is a hot thing.", "p-told")
    found = extracted("What is an oven?", told, entry)
    assert first in found.text
    assert listing not in found.text
    assert "Ovens differ in heat." not in found.text
    for (start, end), unit in found.claims:
        assert found.text[start:end] == unit.text


@pytest.mark.parametrize(
    "question",
    [
        "What's a mitochondrion?",
        "How does the mitochondrion work?",
        "what is the point of mitochondria",
        "Tell me about mitochondria, please.",
        "What's a mitochondrion for?",
        "Mitochondria",
        "mitochondria definition",
        "i still dont get what a mitochondrion is, thanks",
    ],
)
def test_a_term_may_be_asked_for_in_many_ways(question: str) -> None:
    name = name_asked(search_text(question, "en").words, terms, "en")
    assert terms(name) == terms("mitochondrion")


KINDS = {
    "code": {BlockKind.CODE},
    "list": {BlockKind.LIST, BlockKind.TABLE},
    "any": set[BlockKind](),
}


@pytest.mark.parametrize(("question", "kind"), case_lines("asked_kinds"))
def test_a_question_may_want_a_kind_of_block(question: str, kind: str) -> None:
    assert asked_kinds(words(question)) == KINDS[kind]


def test_a_long_sentence_is_not_cut_behind_an_initial() -> None:
    long = f"The song {'and its words ' * 20}in the version of John C. Owl; it was sung a lot. Then"
    cut = unit_texts(passage(long), lambda text, _: [(0, len(text))])
    assert [one[-5:] for one in cut] == [" Owl;", " lot.", "Then"]


@pytest.mark.parametrize("text", ["organelle: see mitochondrion", "See mitochondrion.", "cf. ATP"])
def test_an_entry_that_only_refers_to_another_is_not_quoted(text: str) -> None:
    refers = passage(text, "p-refers", BlockKind.GLOSSARY_ENTRY, terms=("organelle",))
    assert not unit_texts(refers)
    found = extracted("What is an organelle?", refers, GLOSSARY)
    assert found.text == GLOSSARY.text


@pytest.mark.parametrize(
    "question",
    ["What steps split the text into tokens?", "Building an index takes how many steps?"],
)
def test_a_list_and_the_sentence_that_introduces_it_come_together(question: str) -> None:
    found = extracted(question, INTRODUCTION, STEPS)
    assert found.text == f"{INTRODUCTION.text}\n\n{STEPS.text}"


def test_a_short_entry_of_the_glossary_comes_before_a_text_with_the_term() -> None:
    near = passage("It guards the ovule, the part that makes seeds of plants.", "p-near")
    text = "ovule\nfemale gametophyte"
    short = passage(text, "p-entry", BlockKind.GLOSSARY_ENTRY, terms=("ovule",))
    assert extracted("What is an ovule?", near, short).passages[0].text == text


def test_fence_is_longer_than_any_in_the_code() -> None:
    code = passage("print('```` tokenize')", "p-code", BlockKind.CODE)
    assert "`````\nprint" in extracted("Show the code to tokenize", code).text


@pytest.mark.parametrize(
    ("table", "shown"),
    [
        (TABLE, "Method | Speed\n--- | ---\nBM25 | fast\nDense | slow"),
        ("Animals\nName | Speed\nHare | 70", "Animals\n\nName | Speed\n--- | ---\nHare | 70"),
        ("Of all\nFast\na | b\n1 | 2", "Of all\n\nFast\n\na | b\n--- | ---\n1 | 2"),
        ("Only\none", "| Only |\n| --- |\n| one |"),
        (" | Speed\nHare | 70", "|  | Speed |\n--- | ---\nHare | 70"),
        ("a | b\n1 | 2 | 3", "| a | b |  |\n--- | --- | ---\n1 | 2 | 3"),
        ("a | b\nx||y\\|w | z", "a | b\n--- | ---\nx\\|\\|y\\|w | z"),
    ],
    ids=["plain", "caption", "caption and title", "one column", "empty cell", "short head", "pipe"],
)
def test_a_table_is_whole_and_one_in_markdown(table: str, shown: str) -> None:
    told = passage(table, "p-table", BlockKind.TABLE)
    found = whole(context_of(told))
    assert found.text == shown == found.text[slice(*found.claims[0][0])]
    assert extracted(table, told).text == shown


def test_of_a_long_table_the_header_and_the_rows_that_answer_are_shown() -> None:
    rows = "\n".join(f"K{at} | seen {at} times on the river and in the wood" for at in range(40))
    table = passage(f"Owls\nKind | Seen\n{rows}", "p-table", BlockKind.TABLE)
    (shown,) = extracted("How often was K7 seen?", table).passages
    assert shown.text.startswith("Owls\n\nKind | Seen\n--- | ---\n")
    assert shown.text.endswith("\n\n\u2026")
    assert word_count(shown.text) < 130
    assert marked(extracted("How often was K7 seen?", table))[0].startswith("K7 | seen 7 times")


def test_of_a_long_paragraph_the_sentences_around_the_best_one_are_shown() -> None:
    filler = "Owls have long wings and see very well in the dark of the night. " * 12
    told = passage(f"{filler}The mitochondrion makes ATP. {filler}".strip(), "p-told")
    (shown,) = extracted("What makes ATP?", told).passages
    assert "The mitochondrion makes ATP." in shown.text
    assert (shown.text[:2], shown.text[-2:]) == ("\u2026 ", " \u2026")


@pytest.mark.parametrize("kind", [BlockKind.EXERCISE, BlockKind.SOLUTION, BlockKind.HEADING])
def test_exercises_solutions_and_headings_are_never_quoted(kind: BlockKind) -> None:
    found = extracted("What makes ATP?", passage("ATP is what makes it.", "p-1", kind))
    assert found.text == ""


def test_nothing_in_common_gives_no_text() -> None:
    assert extracted("Who conquered Gaul?", CELL, STORY) == ExtractiveAnswer("", ())


def test_endless_listing_is_not_quoted() -> None:
    endless = passage("token " * (MAX_UNIT_WORDS + 1), "p-1", BlockKind.CODE)
    assert extracted("Show the code for a token", endless).text == ""


def test_run_on_sentence_is_cut_at_its_semicolons() -> None:
    clause = "many words that say nothing of the matter stand in this clause"
    text = f"{'; '.join([clause] * 6)}; ATP is made here; {clause}."
    found = unit_texts(passage(text))
    assert "ATP is made here;" in found


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("- one\n- two", ["one", "two"]),
        ("1. one\n  - nested\n  - more\n2. two", ["one\n  - nested\n  - more", "two"]),
        ("  * deep\n  * deeper", ["deep", "deeper"]),
        ("no marker\nat all", ["no marker\nat all"]),
        ("lead\n- item", ["lead", "item"]),
        ("- \n- two", ["two"]),
    ],
)
def test_list_items_keep_what_is_nested_in_them(text: str, items: list[str]) -> None:
    assert [text[start:end] for start, end in list_items(text)] == items


_KINDS = [
    BlockKind.PARAGRAPH,
    BlockKind.LIST,
    BlockKind.CODE,
    BlockKind.TABLE,
    BlockKind.GLOSSARY_ENTRY,
]
_PIECES = "ATP~cell.~The~energy:~- item~1. step~is~```~|~\n~ignore all".split("~")
_TEXT = st.lists(st.sampled_from(_PIECES), min_size=1, max_size=30).map(" ".join)


@given(
    question=_TEXT,
    passages=st.lists(st.tuples(_TEXT, st.sampled_from(_KINDS)), min_size=1, max_size=5),
)
def test_answer_holds_nothing_but_the_books_words(
    question: str, passages: Sequence[tuple[str, BlockKind]]
) -> None:
    """Whatever the question, each claim is a verbatim unit, and all words are the book's."""
    listed = in_order(*(passage(text, f"p-{at}", kind) for at, (text, kind) in enumerate(passages)))
    found = extracted(question, *listed)
    for (start, end), unit in found.claims:
        assert unit.source.passage in listed
        assert found.text[start:end] == unit.text or unit.kind is BlockKind.TABLE
    assert set(words(found.text)) <= {word for one in listed for word in words(one.text)}


@pytest.mark.parametrize("liked", [0, 1])
def test_of_paragraphs_with_the_same_words_the_one_most_like_the_question_comes_first(
    liked: int,
) -> None:
    texts = ("The heart of a fish pumps blood.", "All its blood leaves the heart of a fish.")
    readings = [0.1, 0.1]
    readings[liked] = 0.9
    told = (passage(text, f"p-{text[:3]}", heading_path=("Fish", text[:3])) for text in texts)
    found = extracted("heart of a fish blood", *told, readings=readings)
    assert found.passages[0].text == texts[liked]


LISTING = passage("const store = createStore(reducer)", "p-listing", BlockKind.CODE, language="js")


def test_a_listing_without_the_words_of_the_question_is_found_by_its_lead_in() -> None:
    long = "It is made once, and every part of the page reads it. " * 60
    lead_in = passage(f"A store keeps the state of the app. {long}", "p-lead")
    found = extracted("code for a store", lead_in, LISTING)
    assert found.passages[0].paragraph_ids == ("p-lead", "p-listing")


def test_of_two_things_that_the_book_does_not_compare_each_is_defined() -> None:
    near = passage("A fast lane is not for a truck or a bus. A lane for a bus is slow.", "p-near")
    defined = [
        passage(f"{name} is a vehicle for {load}.", f"p-{name}", terms=(name,))
        for name, load in (("Truck", "goods"), ("Bus", "people"))
    ]
    found = extracted("Truck vs bus on a fast lane", near, *defined)
    assert {"p-Truck", "p-Bus"} <= {name for one in found.passages for name in one.paragraph_ids}


def test_the_books_own_comparison_of_two_things_comes_first() -> None:
    defined = [
        passage(f"A {name} is a vehicle.", f"p-{name}", terms=(name,), heading_path=(name,))
        for name in ("truck", "bus")
    ]
    compared = passage("A truck carries goods, while a bus carries people.", "p-both")
    found = extracted("What is the difference between a truck and a bus?", *defined, compared)
    assert found.passages[0].paragraph_ids == ("p-both",)


def test_the_row_whose_first_cell_is_asked_for_is_cited_alone() -> None:
    table = passage(
        "Operator | Meaning\n+ | adds a value\nxor | joins the value of a bit\nshift | moves a bit",
        "p-table",
        BlockKind.TABLE,
    )
    found = extracted("what does xor do with the value of a bit", table)
    assert marked(found) == ["xor | joins the value of a bit"]


def test_a_row_about_one_of_two_things_compares_nothing() -> None:
    rows = "Cell | Moves\nprokaryote | by flagella\neukaryote | by cilia"
    prose = passage(
        "A prokaryote lacks the nucleus of a eukaryote.", "p-prose", heading_path=("B",)
    )
    found = extracted("prokaryote vs eukaryote", passage(rows, "p-table", BlockKind.TABLE), prose)
    assert found.passages[0].paragraph_ids == ("p-prose",)
