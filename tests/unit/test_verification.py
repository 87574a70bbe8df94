"""Citations checked against their paragraphs."""

from __future__ import annotations

import pytest

from app.adapters.sentences import split_sentences
from app.domain.answering.cited_answer import CitedAnswerBuilder
from app.domain.answering.verification import CitationList, Verifier, by_paragraph
from app.domain.chunking.chunk import Passage
from app.domain.document import BlockKind
from app.domain.generated_text.events import GeneratedCitation, GeneratedText
from app.domain.terms import names, numbers, words
from tests.answer_fakes import context_of, in_order, passage, terms

EYES = passage(
    "The barn owl hunts at night. Its eyes hold 2,500 rods, as Martin counted in Berlin. "
    "They cannot turn, so the bird turns its head by 270 degrees.",
    "p-eyes",
    heading_path=("Owls", "Vision"),
)
MOUSE = passage("The mouse hides in the barn by day.", "p-mouse")


def verifier(*passages: Passage, question: str = "", translated: bool = False) -> Verifier:
    context = context_of(*in_order(*passages))
    return Verifier(
        by_paragraph(context),
        terms,
        split_sentences,
        frozenset(words(question)),
        translated=translated,
    )


def quoted(checked: Verifier, claim: str, paragraph_id: str = "p-eyes", around: str = "") -> str:
    """Return the quote that bears the claim; "" if the paragraph does not."""
    found = checked.verify(claim, paragraph_id, around)
    return found.text if found else ""


@pytest.mark.parametrize(
    ("claim", "quote"),
    [
        ("barn owls hunt by night", "The barn owl hunts at night."),
        ("its eyes hold 2500 rods", "Its eyes hold 2,500 rods, as Martin counted in Berlin."),
        ("270 degrees", "They cannot turn, so the bird turns its head by 270 degrees."),
        (
            "The barn owl hunts at night and has rods that Martin counted.",
            "The barn owl hunts at night. Its eyes hold 2,500 rods, as Martin counted in Berlin.",
        ),
    ],
    ids=["inflected", "number written otherwise", "a few words", "two sentences"],
)
def test_quote_is_the_shortest_run_of_sentences_that_bears_the_claim(
    claim: str, quote: str
) -> None:
    assert quoted(verifier(EYES), claim) == quote


@pytest.mark.parametrize(
    "claim",
    [
        "its eyes hold 3,500 rods",
        "its eyes hold three rods",
        "Hubel counted the rods of its eyes",
        "the rods of its eyes, counted at MIT",
        "parrots learn to speak",
        "the",
        "",
    ],
)
def test_claim_with_a_foreign_number_name_or_matter_is_not_supported(claim: str) -> None:
    assert not quoted(verifier(EYES), f"It is said that {claim}" if claim else "")


@pytest.mark.parametrize("paragraph_id", ["p-other", "p-mouse"])
def test_a_paragraph_of_another_context_or_that_shares_a_word_is_no_source(
    paragraph_id: str,
) -> None:
    assert not quoted(verifier(EYES, MOUSE), "the barn owl hunts at night", paragraph_id)


def test_name_may_come_from_the_question_or_the_heading() -> None:
    claim = "As Athena knows, Owls hunt at night"
    assert not quoted(verifier(EYES), claim)
    assert quoted(verifier(EYES, question="Tell Athena how owls hunt"), claim)


def test_of_equal_quotes_the_one_nearest_to_the_sentence_around_the_claim_wins() -> None:
    text = passage("The owl sees red light. The mouse sees red light.", "p-1")
    found = quoted(verifier(text), "red light", "p-1", "What the mouse sees is red light")
    assert found == "The mouse sees red light."


def test_code_is_quoted_whole() -> None:
    code = passage("x = 1\ny = x + 1\nprint(y)", "p-code", BlockKind.CODE)
    assert quoted(verifier(code), "print(y)", "p-code") == code.text


def test_translated_answer_is_checked_by_its_numbers_and_names() -> None:
    checked = verifier(EYES, translated=True)
    assert "270" in quoted(checked, "La lechuza gira la cabeza 270 grados")
    assert not quoted(checked, "La lechuza gira la cabeza 300 grados")


def test_a_claim_cites_a_paragraph_once_and_another_claim_by_the_same_number() -> None:
    checked = verifier(EYES, MOUSE)
    cited = CitationList(checked.paragraphs)
    eyes, mouse = (
        checked.verify("The owl hunts at night.", "p-eyes"),
        checked.verify("The mouse hides by day.", "p-mouse"),
    )
    assert eyes is not None
    assert mouse is not None
    added = [cited.add(span, quote) for span, quote in (((0, 4), eyes), ((0, 4), eyes))]
    assert [one is None for one in added] == [False, True]
    assert cited.add((0, 4), mouse) is not None
    assert cited.add((5, 9), eyes) is not None
    assert [one.index for one in cited.citations] == [1, 2, 1]


def test_pieces_of_one_paragraph_are_judged_together_and_all_listed() -> None:
    first, second = in_order(
        passage("The owl has eyes.", "p-long"), passage("It has ears as well.", "p-long")
    )
    checked = verifier(first, second)
    quote = checked.verify("ears", "p-long")
    assert quote is not None
    citation = CitationList(checked.paragraphs).add((0, 4), quote)
    assert citation is not None
    assert citation.spans == ((0, 17), (19, 39))


def test_quote_comes_with_the_text_around_it() -> None:
    checked = verifier(EYES)
    quote = checked.verify("its eyes hold 2,500 rods", "p-eyes")
    assert quote is not None
    citation = CitationList(checked.paragraphs).add((0, 24), quote)
    assert citation is not None
    assert citation.prefix + citation.quote + citation.suffix in EYES.text
    assert citation.prefix == "The barn owl hunts at night. "
    assert len(citation.suffix) == 32


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1,000 and 1.000 and 1 000", {"1000", "1", "000"}),
        ("3.14 or 3,14", {"3.14"}),
        ("twelve owls, 12 mice", {"12"}),
        ("in 1990-1995", {"1990", "1995"}),
        ("BM25 and k1 and v2.0", set()),
        ("no number", set()),
    ],
)
def test_numbers_are_read_without_their_separators(text: str, found: set[str]) -> None:
    assert numbers(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The owl of Minerva", {"minerva"}),
        ("Minerva's owl", set()),
        ("NASA and the pH of McCulloch", {"nasa", "ph", "mcculloch"}),
        ("It ends. Then begins", set()),
        ("- Item one\n- Item two", set()),
        ("useState is a hook", {"usestate"}),
        ("l'Etat, Jean-Paul", {"l", "etat", "jean", "paul"}),
    ],
)
def test_names_are_capitals_where_no_sentence_begins(text: str, found: set[str]) -> None:
    assert names(text) == found


def written(text: str, *cited: str) -> CitedAnswerBuilder:
    """CitedAnswerBuilder this text with each of these parts of it cited to the owl's paragraph."""
    draft = CitedAnswerBuilder(verifier(EYES, MOUSE))
    draft.take(GeneratedText(text))
    for part in cited:
        start = text.index(part)
        draft.take(GeneratedCitation(start, part, ("p-eyes",)))
    draft.close()
    return draft


@pytest.mark.parametrize(
    ("text", "supported"),
    [
        ("The barn owl hunts at night. It likes jazz.", [True, False]),
        ("- The barn owl hunts at night.\n- It likes jazz.", [True, False]),
        ("# Owls\n\nThe barn owl hunts at night.", [False, True]),
        ("1. The barn owl hunts at night.", [True]),
        ("The barn owl hunts at night.\n```py\nowl.likes = jazz\n```", [True, False]),
        ("The barn owl hunts at night. The owl hunts at night in 1999.", [True, False]),
    ],
)
def test_every_sentence_is_told_supported_or_not(text: str, supported: list[bool]) -> None:
    statements = written(text, "barn owl hunts at night").statements
    assert [one.supported for one in statements] == supported


def test_statements_leave_out_list_marks_and_empty_lines() -> None:
    text = "1. The barn owl hunts.\n\n* * *\n2. It sleeps."
    found = [text[one.start : one.end] for one in written(text).statements]
    assert found == ["The barn owl hunts.", "It sleeps."]


def test_claim_cited_twice_to_one_paragraph_counts_once() -> None:
    draft = written("The barn owl hunts at night.", "barn owl hunts", "barn owl hunts")
    assert len(draft.citations) == 1
