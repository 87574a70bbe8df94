"""Where a file's lines begin and end: what markdown-it's block rules look up."""

from __future__ import annotations

from array import array
from functools import partial
from itertools import accumulate, islice
from types import MappingProxyType
from typing import Any, Literal, cast

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token
from markdown_it.utils import EnvType

_NOTHING = cast("dict[str, Any]", MappingProxyType({}))
"""Most tokens have neither attributes nor notes: two dictionaries each are a quarter of them."""
_TAB = 4
_MANY = 100_000
"""Lines of a file whose offsets are kept in arrays: a fifth of the room, a slower look-up."""
_BLANKS = frozenset(" \t")


class _State(StateBlock):
    """Makes tokens whose `attrs` and `meta` are set anew, never changed in place."""

    def push(self, ttype: str, tag: str, nesting: Literal[-1, 0, 1]) -> Token:
        token = super().push(ttype, tag, nesting)
        token.attrs = token.meta = _NOTHING
        return token


def block_state(source: str, md: MarkdownIt, env: EnvType, tokens: list[Token]) -> StateBlock:
    """Return the state that `StateBlock` would make of `source`, its lines found by fewer calls."""
    state = _State("", md, env, tokens)
    lines = source.split("\n")
    if not lines[-1].strip(" \t"):
        lines.pop()
    numbers: type[list[int]] | partial[array[int]] = list
    if len(lines) > _MANY:
        numbers = partial(array, "Q")
    begins = numbers(accumulate((len(line) + 1 for line in lines), initial=0))
    ends = numbers(begin - 1 for begin in islice(begins, 1, None))
    # The last entry stands for the end, so that rules need not check for it.
    begins[-1] = len(source)
    ends.append(len(source))
    shifts = [len(line) - len(line.lstrip(" \t")) if line[:1] in _BLANKS else 0 for line in lines]
    indents = shifts
    if "\t" in source:
        indents = [_width(line[:shift]) for line, shift in zip(lines, shifts, strict=True)]
    state.src = source
    state.bMarks, state.eMarks = cast("list[int]", begins), cast("list[int]", ends)
    state.tShift = [*shifts, 0]
    state.sCount = [*indents, 0]
    state.bsCount = [0] * (len(lines) + 1)
    state.lineMax = len(lines)
    return state


def _width(blanks: str) -> int:
    """Return the columns that blanks take, with tab stops of four."""
    if "\t" not in blanks:
        return len(blanks)
    width = 0
    for blank in blanks:
        width += _TAB - width % _TAB if blank == "\t" else 1
    return width
