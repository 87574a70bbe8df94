"""What is left of a model's deltas before anything reads them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.generated_text.model_text import MAX_CHARACTERS, GeneratedText, ModelText
from app.domain.prompts import NO_ANSWER


def read(text: ModelText, *deltas: str) -> str:
    """The text that a reader of the deltas is left with."""
    shown = ""
    for delta in deltas:
        for event in text.feed(delta):
            shown = shown + event.text if isinstance(event, GeneratedText) else ""
    rest = (event.text for event in text.close() if isinstance(event, GeneratedText))
    return shown + "".join(rest)


def received(*deltas: str, limit: int = MAX_CHARACTERS) -> str:
    return read(ModelText(limit), *deltas)


REASONING = [
    ("<think>Owls? Let me see.</think>\n\nOwls hunt.", "Owls hunt."),
    ("<think></think>Owls hunt.", "Owls hunt."),
    ("<think>\n\n</think>\n\nOwls hunt.", "Owls hunt."),
    ("<THINKING>a < b</THINKING> Owls hunt.", "Owls hunt."),
    ("<reasoning>a</reasoning><thought>b</thought>Owls hunt.", "Owls hunt."),
    ("<think>It never ends, says the <b>book</b>", ""),
    ("Owls hunt. <think>And mice?", "Owls hunt. "),
    ("The user asks for owls.</think>\n\nOwls hunt.", "Owls hunt."),
    ("First.</think>Second.</think>Owls hunt.", "Owls hunt."),
    ("<think>a<think>b</think>c</think>Owls hunt.", "Owls hunt."),
    ("A.\n\n<think>x</think>B.", "A.\n\nB."),
    ("The tag `<think>` opens, `</think>` closes it.",) * 2,
    ("if a<b then <i>c</i> <thin",) * 2,
    ("ends with `",) * 2,
    ("ends with <",) * 2,
]


@pytest.mark.parametrize(("sent", "left"), REASONING)
@pytest.mark.parametrize("size", [1, 2, 3, 7, 1_000])
def test_reasoning_is_left_out_however_the_stream_is_cut(sent: str, left: str, size: int) -> None:
    assert received(*(sent[at : at + size] for at in range(0, len(sent), size))) == left


def test_halves_of_a_character_are_replaced() -> None:
    assert received("a\udf31b\ud83c", "c") == "a\ufffdb\ufffdc"


def test_text_over_the_limit_is_dropped() -> None:
    text = ModelText(5)
    assert [one.text for one in text.feed("abc") if isinstance(one, GeneratedText)] == ["abc"]
    assert not text.full
    assert read(text, "def", "ghi") == "de"
    assert text.full
    assert received("<think>" + "long " * 99 + "</think>abc", limit=5) == "abc"


@pytest.mark.parametrize(
    "refusal", [NO_ANSWER, f" \n{NO_ANSWER}.", f'"{NO_ANSWER}"', f"**{NO_ANSWER}**"]
)
def test_a_refusal_shows_nothing_however_it_is_cut(refusal: str) -> None:
    for place in range(len(refusal) + 1):
        text = ModelText()
        assert (read(text, refusal[:place], refusal[place:]), text.refused) == ("", True)


@given(st.text(alphabet="NOT_IBK a.*", max_size=30), st.integers(0, 30))
def test_any_other_answer_is_shown_whole(written: str, place: int) -> None:
    refused = written.lstrip(" *").startswith(NO_ANSWER)
    text = ModelText()
    expected = "" if refused else written.lstrip()
    assert (read(text, written[:place], written[place:]), text.refused) == (expected, refused)


def test_an_answer_is_held_back_no_longer_than_it_may_be_a_refusal() -> None:
    text = ModelText()
    shown = [list(text.feed(delta)) for delta in ("NO", "rmally,", " no")]
    assert shown == [[], [GeneratedText("NOrmally,")], [GeneratedText(" no")]]
