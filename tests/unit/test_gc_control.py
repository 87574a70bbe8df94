"""The cycle collector is paused only where that leaves nothing behind."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from app.adapters.reading.book import read_book
from app.services.gc_control import frozen_heap, paused_gc


def test_the_collector_is_back_as_it_was_even_after_an_error() -> None:
    """An error inside turns it on again; a pause inside a pause does not."""

    @paused_gc()
    def fail() -> None:
        with paused_gc():
            pass
        assert not gc.isenabled()
        raise ValueError("inside")

    with pytest.raises(ValueError, match="inside"):
        fail()
    assert gc.isenabled()


def test_reading_a_book_makes_no_garbage_that_only_the_collector_would_find(
    tmp_path: Path,
) -> None:
    """So the pause costs no memory, however large the book is."""
    page = "# Title\n\nText with **bold** and [a link](b.md).\n\n- one\n- two\n\n> quote\n\n"
    for number in range(6):
        (tmp_path / f"page-{number}.md").write_text(page * 20)
    assert len(read_book(tmp_path).documents) == 6
    # Threads that other tests left may make garbage meanwhile, but not each time.
    assert any(_garbage_of_reading(tmp_path) == 0 for _ in range(5))


def _garbage_of_reading(folder: Path) -> int:
    """Return the number of unreachable objects after a book was read."""
    gc.collect()
    with paused_gc():
        read_book(folder)
        return gc.collect()


def test_what_was_set_aside_is_collected_again_afterwards() -> None:
    """Nothing is lost for good, even when the block ends in an error."""

    @frozen_heap()
    def fail() -> None:
        assert gc.get_freeze_count()
        raise ValueError("inside")

    with pytest.raises(ValueError, match="inside"):
        fail()
    assert not gc.get_freeze_count()
