"""Dataclasses that are frozen for the type checker but as fast to create as mutable ones.

A frozen dataclass sets fields through `object.__setattr__`, which takes four times as long as
assignment. Reading a book creates about ten objects per paragraph, a search a few hundred.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as fast_dataclass
else:

    def fast_dataclass(*, frozen: bool, slots: bool):  # noqa: ANN201 - mypy sees `dataclass` itself
        """Return a mutable dataclass with the equality and hash of a frozen one."""
        return dataclass(slots=slots, unsafe_hash=frozen)


__all__ = ["fast_dataclass"]
