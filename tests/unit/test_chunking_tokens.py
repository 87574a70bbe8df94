"""Token sums from parts equal the counts of the joined text, by the real encoding."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from app.adapters.tokens import token_counter
from app.domain.chunking.tools import JoinCounter

_PIECES = st.text(
    st.one_of(
        st.sampled_from("abcXYZ019 .,;:!?'\"`*_#-|<>()[]{}$\\/\n\t—…“”é語😀الб"),
        st.characters(exclude_categories=["Cs"]),
    ),
    min_size=1,
    max_size=40,
).filter(lambda text: text == text.strip())
_GAPS = st.sampled_from(["\n\n", "\n", "\r\n\r\n", "\n \n", "\n\n  ", "\n\t", "\n\n\n\n ", " \n"])


@settings(max_examples=600, deadline=None)
@given(st.lists(_PIECES, min_size=2, max_size=5), _GAPS)
def test_the_sum_of_parts_and_joins_is_the_count_of_the_whole(parts: list[str], gap: str) -> None:
    count = token_counter()
    joins = JoinCounter(count)
    total = count(parts[0])
    for before, after in pairwise(parts):
        added = joins.added(before, gap, after)
        if added is None:
            return
        total += count(after) + added
    assert total == count(gap.join(parts))


def test_common_joins_are_known_without_counting_again() -> None:
    calls: list[str] = []

    def count(text: str) -> int:
        calls.append(text)
        return len(text)

    joins = JoinCounter(count)
    for number in range(50):
        assert joins.added(f"Sentence {number}.", "\n\n", "Next") is not None
    assert len(calls) == 3


def test_a_join_without_a_line_end_is_not_known() -> None:
    joins = JoinCounter(len)
    assert joins.added("one", " ", "two") is None
    assert joins.added("one ", "\n\n", "two") is None
    assert joins.added("-" * 99, "\n\n", "two") is None
