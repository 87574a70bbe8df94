"""A long text is sliced as the string it stands for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.long_text import LongText, held

TEXT = "".join(f"{number} wörds, “quoted” and 🎉 emoji\n" for number in range(400))
LONG = LongText(TEXT)


OFFSETS = st.one_of(st.none(), st.integers(-len(TEXT) - 2, len(TEXT) + 2))


@given(OFFSETS, OFFSETS)
def test_slices_are_those_of_the_string(start: int | None, stop: int | None) -> None:
    assert LONG[start:stop] == TEXT[start:stop]


@given(st.integers(-len(TEXT), len(TEXT) - 1))
def test_characters_are_those_of_the_string(at: int) -> None:
    assert LONG[at] == TEXT[at]


def test_a_character_behind_the_end_is_an_error() -> None:
    with pytest.raises(IndexError):
        LONG[len(TEXT)]


def test_it_has_the_strings_length_and_text() -> None:
    assert (len(LONG), str(LONG)) == (len(TEXT), TEXT)


@pytest.mark.parametrize("text", ["", "short “text”", "x" * 2_000_000])
def test_a_short_or_ascii_text_stays_a_string(text: str) -> None:
    assert held(text) is text


def test_a_long_text_takes_about_a_byte_a_character() -> None:
    text = "A plain sentence of some words. " * 40_000 + "🎉"
    kept = held(text)
    assert isinstance(kept, LongText)
    assert sum(map(len, kept._parts)) < len(text) + 4
    assert kept[-2:] == " 🎉"
