"""Addresses that are not the book's never reach the reader."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.answering.foreign_links import ForeignLinkFilter

BOOK = "The site is https://book.example/start and mail goes to mailto:us@book.example today."


def shown(pieces: list[str]) -> str:
    links = ForeignLinkFilter(BOOK)
    return "".join([links.feed(piece) for piece in pieces] + [links.close()])


@pytest.mark.parametrize(
    ("written", "left"),
    [
        ("Go to https://evil.example/a?b=c#d now.", "Go to  now."),
        ("Go to https://evil.example.", "Go to ."),
        ("[here](https://evil.example/x) it is", "[here]() it is"),
        ("<a href='HTTP://EVIL.example'>x</a>", "<a href=''>x</a>"),
        ("www.evil.example, mailto:a@evil.example; javascript:alert(1)", ", ; )"),
        ("See https://book.example/start, or mailto:us@book.example.", None),
        ("how www why http: ftp with javascript code std::io // note", None),
        ("h", None),
        ("https://", None),
    ],
)
def test_foreign_address_goes_and_the_rest_stays(written: str, left: str | None) -> None:
    assert shown([written]) == (written if left is None else left)


_PARTS = ["https://evil.example/x", "https://book.example/start", "www.", "w", "http", "ftp://x"]
_TEXT = st.lists(st.sampled_from([*_PARTS, " ", ".", ")", "owl", "é", "\n"]), max_size=12).map(
    "".join
)


@given(_TEXT, st.data())
def test_result_and_places_do_not_depend_on_how_the_text_is_cut(
    text: str, data: st.DataObject
) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert shown(pieces) == shown([text])
    links = ForeignLinkFilter(BOOK)
    result = links.feed(text) + links.close()
    for at, char in enumerate(text):
        place = links.shown_at(at)
        kept = links.shown_at(at + 1) > place
        assert not kept or result[place] == char
    assert links.shown_at(len(text)) == len(result)
