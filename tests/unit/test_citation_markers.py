"""Markers to citations: what they mark, and that no cut of the stream changes it."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.adapters.sentences import split_sentences
from app.domain.generated_text.markup import without_markers
from app.domain.generated_text.splitter import UNIT_CHARS, Splitter, TextUnit
from tests.recorded_cases import case_lines

Result = tuple[str, list[tuple[int, int, tuple[int, ...]]]]


def units(pieces: Sequence[str]) -> list[TextUnit]:
    splitter = Splitter(split_sentences, "en")
    found = [unit for piece in pieces for unit in splitter.feed(piece)]
    return found + splitter.feed("", final=True)


def parse(pieces: Sequence[str], sources: int = 3) -> Result:
    """Text and claims of all units; a claim without words is left out."""
    text, claims = "", []
    for unit in units(pieces):
        written, marked = (unit.text, []) if unit.fence else without_markers(unit.text, sources)
        found = [(span, numbers) for span, numbers in marked if span[0] < span[1]]
        claims += [(len(text) + span[0], len(text) + span[1], numbers) for span, numbers in found]
        text += written
    return text, claims


@pytest.mark.parametrize(("answer", "read"), [*case_lines("citation_markers"), ("", "")])
def test_markers_become_citations_and_leave_the_text(answer: str, read: str) -> None:
    text, spans = parse([answer])
    assert parse([*answer]) == (text, spans)
    cited = [f"{text[start:end]}: {' '.join(map(str, one))}" for start, end, one in spans]
    assert " | ".join([text, *cited]) == read


_TOKENS = [*"[]129, a`\n\u3010\u3011\u2020^", "B.", "```", "~~~"]


@given(st.lists(st.sampled_from(_TOKENS), max_size=40))
def test_any_tokens_whatever_come_out_the_same_as_at_once(tokens: list[str]) -> None:
    text, spans = parse(["".join(tokens)])
    assert parse(tokens) == (text, spans)
    assert parse(list("".join(tokens))) == (text, spans)
    for start, end, numbers in spans:
        assert 0 <= start < end <= len(text)
        assert set(numbers) <= {1, 2, 3}


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("Owls hunt. Mice eat.", ["Owls hunt. ", "Mice eat."]),
        (
            "It is so. [1] Next.\n\n- a b\n- c d",
            ["It is so. [1] ", "Next.\n", "\n", "- a b\n", "- c d"],
        ),
        (
            "See [the notes. Or not](x). Then `a. B` is.",
            ["See [the notes. Or not](x). ", "Then `a. B` is."],
        ),
        ("\u5149\u6c34\u3002\u6c34\u5149\u3002", ["\u5149\u6c34\u3002", "\u6c34\u5149\u3002"]),
        ("Do:\n  ```py\n  x. Y\n\n  ```\nSo.", ["Do:\n", "  ```py\n  x. Y\n\n  ```\n", "So."]),
        ("| a. B | c |\n", ["| a. B | c |\n"]),
    ],
)
def test_an_answer_is_cut_into_sentences_lines_and_fences(text: str, cut: list[str]) -> None:
    assert [unit.text for unit in units([text])] == cut
    assert [unit.text for unit in units(list(text))] == cut


def test_units_have_a_limit() -> None:
    assert max(len(unit.text) for unit in units(["word " * 9_000])) <= UNIT_CHARS
    assert [len(unit.text) for unit in units(["x" * 2 * UNIT_CHARS])] == [UNIT_CHARS, UNIT_CHARS]
