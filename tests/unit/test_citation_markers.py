"""Markers to citations: what they mark, and that no cut of the stream changes it."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.adapters.sentences import split_sentences
from app.domain.generated_text.markup import without_markers
from app.domain.generated_text.splitter import UNIT_CHARS, Splitter, TextUnit

Result = tuple[str, list[tuple[int, int, tuple[int, ...]]]]


def units(pieces: Sequence[str]) -> list[TextUnit]:
    splitter = Splitter(split_sentences, "en")
    return [unit for piece in pieces for unit in splitter.feed(piece)] + splitter.close()


def parse(pieces: Sequence[str], sources: int = 3) -> Result:
    """Text and claims of all units; a claim without words is left out."""
    text, claims = "", []
    for unit in units(pieces):
        written, marked = (unit.text, []) if unit.fence else without_markers(unit.text, sources)
        found = [one for one in marked if one.start < one.end]
        claims += [(len(text) + one.start, len(text) + one.end, one.numbers) for one in found]
        text += written
    return text, claims


CASES = [
    ("Light is energy [1].", "Light is energy.", [("Light is energy", (1,))]),
    ("One. Two is [1][2]. Three.", "One. Two is. Three.", [("Two is", (1, 2))]),
    ("It is [1, 2] so.", "It is so.", [("It is", (1, 2))]),
    ("It is [1]so.", "It is so.", [("It is", (1,))]),
    ("It is [1;3] so.", "It is so.", [("It is", (1, 3))]),
    ("It is [1] [1] [2], yes.", "It is, yes.", [("It is", (1, 2))]),
    ("It is so. [1] Next.", "It is so. Next.", [("It is so.", (1,))]),
    ("A is x [1] and B is y [2].", "A is x and B is y.", [("A is x", (1,)), ("and B is y", (2,))]),
    ("- Light [1]\n- Water [2]", "- Light\n- Water", [("Light", (1,)), ("Water", (2,))]),
    ("1. Do [1].\n2. Wait [2].", "1. Do.\n2. Wait.", [("Do", (1,)), ("Wait", (2,))]),
    ("It is\u30101\u3011.", "It is.", [("It is", (1,))]),
    ("It is\u30102\u2020source\u3011.", "It is.", [("It is", (2,))]),
    ("It is\uff3b2\uff3d.", "It is.", [("It is", (2,))]),
    ("It is [^3].", "It is.", [("It is", (3,))]),
    ("\u5149\u3002\u6c34\u30101\u3011\u3002", "\u5149\u3002\u6c34\u3002", [("\u6c34", (1,))]),
    (
        "Na\u00efve \U0001f331 grows [1].",
        "Na\u00efve \U0001f331 grows.",
        [("Na\u00efve \U0001f331 grows", (1,))],
    ),
    ("Known [1, 9].", "Known.", [("Known", (1,))]),
    ("Known and not [1][9].", "Known and not.", [("Known and not", (1,))]),
    ("It is [1-3] so.", "It is so.", [("It is", (1, 2, 3))]),
    ("It is [2\u20133].", "It is.", [("It is", (2, 3))]),
    (r"It is \[2\].", "It is.", [("It is", (2,))]),
    ("It is [Source 2].", "It is.", [("It is", (2,))]),
    ("It is [source 1, 3] so.", "It is so.", [("It is", (1, 3))]),
    ("It is [Doc. 1][Passage 2].", "It is.", [("It is", (1, 2))]),
    ("It is (2), see [Figure 2].", "It is (2), see [Figure 2].", []),
    (
        "So e.g. Dr. Owl is [1]. It is.",
        "So e.g. Dr. Owl is. It is.",
        [("So e.g. Dr. Owl is", (1,))],
    ),
    ("Unknown [9], [0], [12345678901].", "Unknown [9], [0], [12345678901].", []),
    ("No marker: [x], [], [1.5], [a1], [1", "No marker: [x], [], [1.5], [a1], [1", []),
    ("Nested [[1]] it", "Nested it", [("Nested", (1,))]),
    ("Wrong pair [1\u3011 it", "Wrong pair it", [("Wrong pair", (1,))]),
    ("[1] first", " first", []),
    ("Twice [1]. [2]", "Twice.", [("Twice", (1,)), ("Twice", (2,))]),
    ("In `a[1]` it is [2].", "In `a[1]` it is.", [("In `a[1]` it is", (2,))]),
    ("In ``a`[1]`` it [2].", "In ``a`[1]`` it.", [("In ``a`[1]`` it", (2,))]),
    ("```py\nx[1]\n```\nSo [2].", "```py\nx[1]\n```\nSo.", [("So", (2,))]),
    ("~~~\nx[1]\n```\n[1]\n~~~\nSo [2].", "~~~\nx[1]\n```\n[1]\n~~~\nSo.", [("So", (2,))]),
    ("````\n```\n[1]\n````\nSo [2].", "````\n```\n[1]\n````\nSo.", [("So", (2,))]),
    ("```\nx[1]\n```\n[2]", "```\nx[1]\n```\n", []),
    ("Open ` tick [1]\nnext", "Open ` tick\nnext", [("Open ` tick", (1,))]),
    ("", "", []),
]


@pytest.mark.parametrize(("answer", "text", "marked"), CASES, ids=[case[0] for case in CASES])
def test_markers_become_citations_and_leave_the_text(
    answer: str, text: str, marked: list[tuple[str, tuple[int, ...]]]
) -> None:
    result, spans = parse([answer])
    assert parse([*answer]) == (result, spans)
    assert result == text
    assert [(result[start:end], numbers) for start, end, numbers in spans] == marked


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
