"""Personal data in readers' texts."""

from __future__ import annotations

import pytest

from app.domain.logged_answer import without_personal_data

MASKED = [
    ("write to Ann.Lee+x@mail.uni-bonn.de please", "write to <email> please"),
    ("call +49 170 1234567 now", "call <phone> now"),
    ("call +1 (415) 555-0132", "call <phone>"),
    ("0044 20 7946 0958?", "<phone>?"),
    ("(020) 7946 0958", "<phone>"),
    ("ring 0170/1234567.", "ring <phone>."),
    ("415-555-0132 or 415.555.0132", "<phone> or <phone>"),
    ("my number is 01701234567, 4155550132", "my number is <phone>, <phone>"),
    ("I am at 192.168.10.7", "I am at <ip>"),
    ("ann (at) mail.example.org", "<email>"),
    ("ann [at] example [dot] org", "<email>"),
    ("ann.lee at example dot org", "<email>"),
    ("ann\uff20example.org", "<email>"),
    ("01.42.68.53.00", "<phone>"),
    ("138 0013 8000", "<phone>"),
    ("98765 43210", "<phone>"),
    ("\uff10\uff11\uff17\uff10\uff11\uff12\uff13\uff14\uff15\uff16\uff17", "<phone>"),
    ("\u0660\u0661\u0667\u0660\u0661\u0662\u0663\u0664\u0665\u0666\u0667", "<phone>"),
    ("+1 200 000 0000", "<phone>"),
    ("from 2001:db8::1", "from <ip>"),
    ("fe80::1:2", "<ip>"),
    ("from 2001:db8:85a3:0:0:8a2e:370:7334", "from <ip>"),
]
KEPT = [
    "Was it 1939-1945 or 1914–1918?",
    "What is 3.14159265358 rounded?",
    "Why is 6.02214076e23 used, and 299 792 458 m/s?",
    "In fn main() { let x: u64 = 1_000_000; } what is @derive?",
    "What does 0.1 + 0.2 give? 12:30:45, 2026-11-23",
    "the sequence 1 2 3 4 5 6 7 8 9",
    "pip install torch==2.1.0 and use std::vec::Vec",
    "u32 ends at 4294967295, i32 at 2147483647, 2147483648 is one more",
    "3000000000 base pairs, 10000000000 elements, 1 000 000 000 stars",
    "the digits 0123456789 and 1234567890",
    "f64::E, a::b and std::mem::swap at line 3",
    "look at the dot product, at the dot it is, at a dot or [at] all",
    "\u0661\u0669\u0661\u0664",
    "chromosomes 23, 46 and 3,200,000,000 bases",
]


@pytest.mark.parametrize(("text", "masked"), MASKED)
def test_addresses_and_numbers_of_people_are_masked(text: str, masked: str) -> None:
    assert without_personal_data(text) == masked


@pytest.mark.parametrize("text", KEPT)
def test_other_numbers_stay(text: str) -> None:
    assert without_personal_data(text) == text


@pytest.mark.parametrize(
    "part", ["+1", "0", "a at b dot ", "2001:", "a (at) b.", "(020) 1", "a@", "1:", "1.", "+1(2)"]
)
def test_long_runs_are_read_in_linear_time(part: str) -> None:
    assert without_personal_data((part + "1" * 40 + "x ") * 4_000)
