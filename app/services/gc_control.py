"""Python's cycle collector, paused where only lasting objects are made."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused_gc() -> Iterator[None]:
    """Do not look for reference cycles in this block, or in the function so decorated.

    A book's blocks and chunks are many objects that all stay: the collector goes through them
    again and again, a tenth of the time, and finds nothing, for reading makes no cycles.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@contextmanager
def frozen_heap() -> Iterator[None]:
    """Do not look for cycles, in this block, among the objects that were there before it.

    A process that answers keeps modules and models to its end; to go through them again and again
    is a tenth of the time of a search.
    """
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
