"""Questions that compare two things: what each of them is, and a sentence that names both."""

from __future__ import annotations

import asyncio

import pytest

from app.domain.answering.comparison import compared
from app.domain.answering.request import AskRequest
from app.domain.chunking.chunk import Passage
from app.domain.document import BlockKind
from tests.answer_fakes import World, extracted, passage, terms

AXON = passage(
    "Axon : the fibre that carries signals away.",
    "p-axon",
    BlockKind.GLOSSARY_ENTRY,
    terms=("Axon",),
)
DENDRITE = passage(
    "Neurons branch. A dendrite is a branch that takes signals in.",
    "p-dendrite",
    heading_path=("Dendrites",),
)
BOTH = passage(
    "Axons and dendrites were drawn by Cajal. The axon is long while a dendrite is short.", "p-both"
)
HILLOCK = passage(
    "Hillock : the place between an axon and a dendrite, so that no axon meets a dendrite.",
    "p-hillock",
    BlockKind.GLOSSARY_ENTRY,
    terms=("Hillock",),
)
QUESTIONS = [
    "What is the difference between an axon and a dendrite?",
    "How does an axon differ from a dendrite?",
    "How do an axon and a dendrite differ?",
    "How is an axon different from a dendrite?",
    "Compare axons with dendrites.",
    "Axon vs. dendrite",
    "axon versus dendrite",
    "Which is longer, an axon or a dendrite?",
    "Should I draw an axon or a dendrite?",
]
ANSWER = f"{AXON.text}\n\nA dendrite is a branch that takes signals in.\n\n{BOTH.text[41:]}"


@pytest.mark.parametrize("question", QUESTIONS)
def test_both_things_are_explained_in_the_order_asked_before_a_sentence_on_both(
    question: str,
) -> None:
    assert extracted(question, HILLOCK, BOTH, DENDRITE, AXON).text == ANSWER


@pytest.mark.parametrize(
    ("question", "names"),
    [
        *((question, ["axon", "dendrite"]) for question in QUESTIONS[:4]),
        ("¿Cuál es la diferencia entre un axón y una dendrita?", ["axón", "dendrita"]),
        ("Was ist der Unterschied zwischen dem Axon und der Dendrite?", ["Axon", "Dendrite"]),
        ("Quelle est la différence entre un axone et une dendrite ?", ["axone", "dendrite"]),
        ("Qual é a diferença entre um axônio e um dendrito?", ["axônio", "dendrito"]),
        ("Qual è la differenza tra osmosi e diffusione?", ["osmosi", "diffusione"]),
        ("Distinguish between mitosis, meiosis and fission.", ["mitosis", "meiosis", "fission"]),
        ("Difference between mass and weight in physics", ["mass", "weight"]),
        ("What is an axon?", []),
        ("When was the axon found?", []),
        ("Compare " + "this and " * 1_000 + "that", []),
        ("Does it snow in summer, when it is hot and dry and windy, or only in winter?", []),
    ],
)
def test_what_is_compared_is_read_from_the_question(question: str, names: list[str]) -> None:
    assert [one.name.removeprefix("um ") for one in compared(question, terms)] == names


def test_a_common_head_may_belong_to_each_of_the_things() -> None:
    first, second = compared("Compare dense and sparse vectors", terms)
    assert first.readings == (terms("dense"), terms("dense vectors"))
    assert second.readings == (terms("sparse vectors"),)


def test_things_that_the_book_does_not_both_define_are_answered_as_any_question() -> None:
    question = "What is the difference between an axon and a synapse?"
    found = extracted(question, AXON, passage("The axon ends at a synapse.", "p-end"))
    assert "The axon ends at a synapse." in found.text


def test_each_of_the_things_is_looked_up() -> None:
    world = World((DENDRITE, BOTH, AXON))
    use_case = world.answering(refusal_threshold=0.0)
    answer = asyncio.run(use_case.answer(AskRequest(QUESTIONS[0])))
    asked = [query.question for query in world.retriever.asked]
    assert asked[:3] == [QUESTIONS[0], "axon?", "dendrite?"]
    assert answer.answer == ANSWER


def test_things_whose_terms_are_defined_by_their_long_names_are_found_by_their_short_ones() -> None:
    dna, rna = (
        passage(f"{term}: {what}.", f"p-{term[-4:-1]}", BlockKind.GLOSSARY_ENTRY, terms=(term,))
        for term, what in (
            ("deoxyribonucleic acid (DNA)", "the molecule of genes"),
            ("ribonucleic acid (RNA)", "the molecule of messages"),
        )
    )
    poison = passage("The poison stops all RNA that is made from DNA.", "p-poison")
    found = extracted("What's the difference between DNA and RNA?", poison, rna, dna)
    assert found.text == f"{dna.text}\n\n{rna.text}"


def entries(**said: str) -> list[Passage]:
    """Of terms with an underscore for each further sense."""
    return [
        passage(
            f"{key.strip('_')} : {text}",
            f"p-{key}",
            BlockKind.GLOSSARY_ENTRY,
            terms=(key.strip("_"),),
        )
        for key, text in said.items()
    ]


@pytest.mark.parametrize("order", [1, -1])
def test_of_a_word_with_two_senses_the_one_that_can_be_compared_is_taken(order: int) -> None:
    artery, leaf, body = entries(
        artery="vessel that takes blood from the heart",
        vein="bundle of xylem and phloem in a leaf",
        vein_="vessel that brings blood to the heart",
    )
    found = extracted("artery vs vein", *[leaf, artery, body][::order])
    assert {unit.text for _, unit in found.claims} == {artery.text, body.text}


def test_words_of_one_stem_are_told_apart_where_they_are_compared() -> None:
    mating, hybrid = entries(
        hybridization="the mating of two that differ", hybrid="the offspring of two that differ"
    )
    found = extracted("difference between a hybrid and hybridization", hybrid, mating)
    assert [unit.text for _, unit in found.claims] == [hybrid.text, mating.text]


@pytest.mark.parametrize(
    "table",
    [
        "Feature | Axon | Dendrite\nLength | long | short",
        "Part | Length\nAxon | long\nDendrite | short",
    ],
    ids=["columns", "rows"],
)
def test_a_table_of_both_answers_where_the_book_does_not_define_them(table: str) -> None:
    both = passage(table, "p-table", BlockKind.TABLE)
    near = passage("An axon may touch a dendrite.", "p-near")
    found = extracted("How do axons and dendrites differ?", near, both)
    assert [unit.text for _, unit in found.claims] == [table]


def test_of_what_names_both_the_sentence_that_sets_them_apart_is_quoted_first() -> None:
    names = passage("The axon and the dendrite are in the cell.", "p-names")
    apart = passage("The axon sends, while the dendrite takes in.", "p-apart")
    found = extracted("axon vs dendrite", names, apart)
    assert apart.text in found.text
