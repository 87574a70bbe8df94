"""Any byte of any file of a book changed, cut or gone: no wrong answer, and no trouble for others.

A new damage is a line in `attacks/damages.jsonl`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.attacking import examples, tried
from tests.damages import (
    DAMAGED,
    DAMAGES,
    OTHER,
    Asker,
    Damage,
    Told,
    damaged,
    flip,
    make_books,
    named_damages,
    remove,
    written_size,
)
from tests.index_points import quick_folder

pytestmark = pytest.mark.attack("damages")


class Books:
    """The two books, whole; what they answer, and what the previous generation answers."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.folder = home / "index" / DAMAGED
        make_books(home)
        self.asker = Asker(home)
        self.whole = self.asker.ask()
        self.before = self.told([self.folder / "000002"], remove)
        assert self.whole["damaged"] == {}
        assert self.before[DAMAGED] not in (self.whole[DAMAGED], "refused")

    def told(self, paths: list[Path], damage: Callable[[Path], object]) -> Told:
        with damaged(paths, damage):
            return self.asker.ask()

    def outcome(self, told: Told) -> str:
        """Of the damaged book; anything else that was told must fit it."""
        tried()
        assert told[OTHER] == self.whole[OTHER]
        if told[DAMAGED] == self.whole[DAMAGED]:
            assert (told["all"], told["damaged"]) == (self.whole["all"], {})
            return "same"
        if told[DAMAGED] == self.before[DAMAGED]:
            assert (told["all"], told["damaged"]) == (self.before["all"], {DAMAGED: True})
            return "previous"
        assert told["all"] == self.whole[OTHER]
        assert told["damaged"] == ({DAMAGED: False} if told[DAMAGED] == "refused" else {})
        return str(told[DAMAGED])


@pytest.fixture(scope="module")
def books() -> Iterator[Books]:
    with quick_folder() as home:
        made = Books(home)
        yield made
        made.asker.close()


@pytest.mark.parametrize("case", named_damages(), ids=lambda case: case.name)
def test_a_known_damage(books: Books, case: Damage) -> None:
    paths = sorted(books.folder.glob(case.files))
    assert paths
    assert books.outcome(books.told(paths, DAMAGES[case.damage])) == case.outcome


@settings(max_examples=examples(20))
@given(
    place=st.integers(min_value=0, max_value=10_000),
    how=st.sampled_from(["flip", "cut", "flip in a hole", "remove"]),
    where=st.floats(min_value=0, max_value=1, exclude_max=True),
)
@example(place=0, how="flip", where=0.0)
def test_any_byte_changed_cut_or_gone(books: Books, place: int, how: str, where: float) -> None:
    files = sorted(path for path in books.folder.rglob("*") if path.is_file())
    path = files[place % len(files)]
    size, written = path.stat().st_size, written_size(path)

    def damage(path: Path) -> None:
        if how == "remove":
            remove(path)
        elif how == "cut":
            os.truncate(path, int(where * size))
        elif size:
            flip(path, int(where * (size if "hole" in how else written or size)))

    outcome = books.outcome(books.told([path], damage))
    # Without `current`, a book is as it is before its first ingest has ended.
    unpublished = path.name == "current" and how == "remove"
    assert outcome in ({"gone"} if unpublished else {"same", "previous", "refused"})
