"""The cycle collector is paused only where that leaves nothing behind."""

from __future__ import annotations

import gc

import pytest

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


def test_what_was_set_aside_is_collected_again_afterwards() -> None:
    """Nothing is lost for good, even when the block ends in an error."""

    @frozen_heap()
    def fail() -> None:
        assert gc.get_freeze_count()
        raise ValueError("inside")

    with pytest.raises(ValueError, match="inside"):
        fail()
    assert not gc.get_freeze_count()
