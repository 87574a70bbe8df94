"""Dataclasses that are frozen for the type checker and cost nothing to be so when they are made.

A frozen dataclass sets each field through `object.__setattr__`, which takes four times as long as
plain assignment; reading a book makes some ten objects a paragraph.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as fast_dataclass
else:

    def fast_dataclass(*, frozen: bool, slots: bool):  # noqa: ANN201 - mypy sees `dataclass` itself
        """Make a dataclass with the equality and hash of a frozen one."""
        return dataclass(slots=slots, unsafe_hash=frozen)


__all__ = ["fast_dataclass"]
