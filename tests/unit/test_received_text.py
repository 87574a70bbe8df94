"""What is left of a model's deltas before anything reads them."""

from __future__ import annotations

import pytest

from app.domain.generated_text.received_text import MAX_CHARACTERS, ReceivedText


def received(*deltas: str, limit: int = MAX_CHARACTERS) -> str:
    """The text that a reader of the deltas is left with."""
    text, read = ReceivedText(limit), ""
    for delta in deltas:
        piece = text.feed(delta)
        read = piece if text.restarted else read + piece
    return read + text.close()


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


@pytest.mark.parametrize(("sent", "read"), REASONING)
@pytest.mark.parametrize("size", [1, 2, 3, 7, 1_000])
def test_reasoning_is_left_out_however_the_stream_is_cut(sent: str, read: str, size: int) -> None:
    assert received(*(sent[at : at + size] for at in range(0, len(sent), size))) == read


@pytest.mark.parametrize("size", [1, 5, 1_000])
def test_text_of_a_model_that_reasons_first_is_held_back(size: int) -> None:
    for sent, read in (("Owls? <b>Yes.</think>\n\nOwls hunt.", "Owls hunt."), ("Owls <hunt",) * 2):
        text = ReceivedText(unopened=True)
        pieces = [text.feed(sent[at : at + size]) for at in range(0, len(sent), size)]
        assert "".join(pieces) + text.close() == read
        assert text.unopened == (sent != read)
        assert not text.restarted


@pytest.mark.parametrize(
    ("deltas", "read"),
    [
        (["a \ud83c", "\udf31 b"], "a \U0001f331 b"),
        (["\ud83c", "", "\udf31"], "\U0001f331"),
        (["a\ud83c", "b"], "a\ufffdb"),
        (["a\udf31b\ud83c"], "a\ufffdb\ufffd"),
    ],
)
def test_halves_of_a_character_are_joined_and_lone_ones_replaced(
    deltas: list[str], read: str
) -> None:
    assert received(*deltas) == read


def test_text_over_the_limit_is_dropped() -> None:
    text = ReceivedText(5)
    assert (text.feed("abc"), text.full) == ("abc", False)
    assert (text.feed("def"), text.full) == ("de", True)
    assert text.feed("ghi") == ""
    assert received("<think>" + "long " * 99 + "</think>abc", limit=5) == "abc"
