"""Sentence boundaries: the library's, and what the domain keeps together on top of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.adapters.sentences import split_sentences
from app.domain.chunking.pieces import BlockSplitter
from tests.chunking_documents import tools
from tests.recorded_cases import case_lines


@pytest.mark.parametrize("case", [given for given, _ in case_lines("sentences")])
def test_sentences_end_where_a_reader_of_the_language_ends_them(case: str) -> None:
    language, text = case.split(": ", 1)
    sentences = text.split(" | ")
    joined = ("" if language in ("ja", "zh") else " ").join(sentences)
    assert [joined[start:end] for start, end in split_sentences(joined, language)] == sentences


@pytest.mark.parametrize(
    "sentences",
    [
        *(
            [f"Look at the formula {formula} here.", "Then go on to the next."]
            for formula in ("$x. Y$", "$$x. Y$$", "$x_1. Y = 3$")
        ),
        ["The first of the owls costs $5.", "The second one costs $7 or so."],
    ],
)
def test_no_sentence_ends_inside_a_formula_and_amounts_of_money_are_none(
    sentences: list[str],
) -> None:
    text = " ".join(sentences)
    found = BlockSplitter("en", tools(), 700).sentences(text)
    assert [text[one.start : one.end] for one in found] == sentences


@given(
    st.text(st.sampled_from(" .a!?Ab\n\t\r\u3000\x85\u2028\u201c\u201d\"'()`$[]<>{}1\u3002é😀")),
    st.sampled_from(["en", "es", "ja", "hi", "de", "xx", "ru"]),
)
def test_sentences_hold_every_character_but_blanks_in_order(text: str, language: str) -> None:
    at = 0
    for start, end, *_ in BlockSplitter(language, tools(), 700).sentences(text):
        assert not text[at:start].strip()
        assert text[start:end] == text[start:end].strip()
        assert start < end
        at = end
    assert not text[at:].strip()


@pytest.mark.parametrize("hostile", ["`", "$", "$$", "$a ", "$a$", "."])
def test_hostile_markup_is_split_in_bounded_time(hostile: str) -> None:
    """Openings that never close, by the hundred thousand: quadratic search would take minutes."""
    text = f"A b. {hostile * (200_000 // len(hostile))} c. D e."
    assert [*BlockSplitter("en", tools(), 700).sentences(text)][-1].end == len(text)


def test_a_long_paragraph_is_split_as_a_short_one_is() -> None:
    """Text goes through the library in windows; no sentence ends at a window's edge."""
    sentences = [f"Sentence {number} says e.g. that it is here." for number in range(900)]
    text = " ".join(sentences)
    assert [text[start:end] for start, end in split_sentences(text, "en")] == sentences
