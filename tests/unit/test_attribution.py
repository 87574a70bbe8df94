"""Sentences without a citation attributed to the paragraph that supports them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from app.adapters.sentences import split_sentences
from app.domain.answer import CitationFound, TextDelta
from app.domain.answering.cited_answer import CitedAnswerBuilder
from app.domain.answering.verification import Verifier, by_paragraph
from app.domain.generated_text.events import GeneratedText
from tests.answer_fakes import context_of, in_order, passage, terms

LEAVES = passage(
    "Leaves are the main sites for photosynthesis: the process by which plants synthesize food. "
    "Most leaves are usually green, due to the presence of chlorophyll in the leaf cells.",
    "p-leaves",
    heading_path=("Plants", "Leaves"),
)
VEINS = passage(
    "The arrangement of veins in a leaf is called the venation pattern. Monocots have parallel "
    "venation; dicots have a net-like arrangement of veins. Some 250,000 plants have flowers.",
    "p-veins",
    heading_path=("Plants", "Leaves"),
)
STEMS = passage(
    "The stem of a plant connects the roots to the leaves, helping to transport absorbed water. "
    "It also helps to transport the products of photosynthesis, namely sugars, from the leaves.",
    "p-stems",
    heading_path=("Plants", "Stems"),
)


def verifier(*, translated: bool = False) -> Verifier:
    context = context_of(*in_order(LEAVES, VEINS, STEMS))
    return Verifier(by_paragraph(context), terms, split_sentences, translated=translated)


@pytest.mark.parametrize(
    ("sentence", "paragraph_id"),
    [
        ("Leaves are the main site of photosynthesis.", "p-leaves"),
        ("Monocots have a parallel venation.", "p-veins"),
        ("A plant's stem connects its roots to its leaves.", "p-stems"),
        ("There are 250,000 plants that have flowers.", "p-veins"),
    ],
)
def test_sentence_goes_to_the_paragraph_that_says_it(sentence: str, paragraph_id: str) -> None:
    quote = verifier().attribute(sentence)
    assert quote is not None
    assert quote.context.passage.paragraph_id == paragraph_id


@pytest.mark.parametrize(
    "sentence",
    [
        "The leaves of plants in rainforests have larger surfaces than those in deserts.",
        "Some 350,000 plants have flowers.",
        "Most leaves are green, as Ingenhousz wrote, due to chlorophyll in the cells.",
        "To the roots the leaves are connected by water, and the plant helps transport the stem.",
        "Leaves are the main sites, leaves are the main sites, and leaves are the main sites.",
        "Leaves and stems",
        "Yes.",
        "",
    ],
    ids=["only the topic", "other number", "other name", "other order", "over and over",
         "two terms", "one word", "empty"],
)  # fmt: skip
def test_sentence_that_no_paragraph_says_stays_uncited(sentence: str) -> None:
    assert verifier().attribute(sentence) is None


def test_a_translation_shares_no_terms_with_the_book_and_is_not_attributed() -> None:
    said = verifier(translated=True).attribute("Leaves are the main site of photosynthesis.")
    assert said is None


SAID = "Leaves are the main site of photosynthesis."
FABLE = "Parrots collect stamps."


PARAGRAPHS = ("p-leaves", "p-veins", "p-stems")


def shown(*pieces: str, numbered: bool = True) -> list[tuple[str, int]]:
    """What each piece, and the end, let out: text, and how many citations."""
    builder = CitedAnswerBuilder(verifier())
    numbers = PARAGRAPHS if numbered else ()
    out = [builder.take(GeneratedText(piece, numbers)) for piece in pieces]
    return [_let_out(events) for events in [*out, builder.close()]]


def _let_out(events: Sequence[TextDelta | CitationFound]) -> tuple[str, int]:
    texts = [one.text for one in events if isinstance(one, TextDelta)]
    return "".join(texts), len(events) - len(texts)


def test_nothing_is_shown_before_a_whole_sentence_is_supported() -> None:
    pieces = (f"{FABLE} ", "Leaves are the main", " site of photosynthesis", ".", " In")
    texts = [text for text, _ in shown(*pieces)]
    assert texts == ["", "", "", "", f"{FABLE} {SAID} ", "In"]


def test_sentences_that_leave_a_third_supported_are_shown() -> None:
    pieces = (f"{SAID} Par", "rots collect stamps. Mice", " sing. Owls", " play.")
    texts = [text for text, _ in shown(*pieces)]
    assert texts == [f"{SAID} ", "Parrots collect stamps. ", "Mice sing. ", "", ""]


def test_citations_come_with_their_sentence_or_at_the_end_if_the_model_may_send_them_later() -> (
    None
):
    pieces = (f"{SAID} ", "Monocots have a parallel venation. ", "So")
    assert [count for _, count in shown(*pieces)] == [0, 1, 1, 0]
    assert [count for _, count in shown(*pieces, numbered=False)] == [0, 0, 0, 2]


MARKERS = r"[1] [1-2] (1) \[1\] [^1] [9] [[1]]".split()


@pytest.mark.parametrize("marker", [*MARKERS, "[Source 1]", "[1, 9]", "\u30101\u3011"])
def test_no_marker_makes_a_supported_answer_unsupported(marker: str) -> None:
    for text in (f"{SAID[:-1]} {marker}.", f"{SAID} {marker}", f"{SAID}\n{marker}\n"):
        builder = CitedAnswerBuilder(verifier())
        for piece in text:
            builder.take(GeneratedText(piece, PARAGRAPHS))
        builder.close()
        assert not builder.unsupported
        assert builder.text.startswith(SAID[:-1])
        assert [one.supported for one in builder.statements] == [True]
        assert builder.citations[0].paragraph_id == "p-leaves"


def test_emphasis_is_no_part_of_a_term() -> None:
    text = "**Leaves** are the *main* __site__ of `photosynthesis`."
    ((out, _), (rest, count)) = shown(text)
    assert out + rest == text
    assert count == 1


def test_unsupported_text_is_never_shown() -> None:
    builder = CitedAnswerBuilder(verifier())
    assert builder.take(GeneratedText(FABLE)) == []
    assert builder.close() == []
    assert builder.unsupported
    assert builder.text == ""
