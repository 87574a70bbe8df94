"""The length of a text in words, in any script."""

from __future__ import annotations

import pytest

from app.domain.word_count import word_count


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("Owls hunt mice — at night.", 6),
        ("Совы охотятся ночью.", 3),
        ("올빼미는 밤에 쥐를 잡는다.", 4),
        ("猫头鹰在夜里捕捉老鼠。", 6),
        ("フクロウは夜にネズミを狩ります。", 5),
        ("นกฮูกล่าหนูในเวลากลางคืน", 5),
        ("Rust の所有権。", 4),
        ("を", 1),
    ],
)
def test_words_are_counted_in_any_script(text: str, count: int) -> None:
    assert word_count(text) == count
