r"""TeX in `\(...\)` and `\[...\]`, as Arithmatex and `mdx_math` read it."""

from __future__ import annotations

from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

from app.adapters.markdown.parser.block_rules import environment, first_of, push_formula
from app.adapters.markdown.parser.dialect import InlineRule
from app.adapters.markdown.parser.tags import TagScanner

EXTENSIONS = frozenset({"arithmatex", "mdx_math"})


def _inline(state: StateInline, silent: bool) -> bool:
    source, start = state.src, state.pos
    if not source.startswith("\\(", start):
        return False
    scanner: TagScanner = state.env["inline_scanner"]
    close = scanner.find("\\)", start + 3)
    if close < 0:
        return False
    if not silent:
        state.push("math_inline", "", 0).content = source[start : close + 2]
    state.pos = close + 2
    return True


def _display(state: StateBlock, position: int, start: int, end: int, silent: bool) -> bool:
    r"""Read `\[...\]` that has empty lines before and after it, and none inside."""
    if silent or not state.src.startswith("\\[", position):
        return False
    last = start
    while last + 1 < end and not state.isEmpty(last + 1):
        last += 1
    stop = position + len(state.src[position : state.eMarks[last]].rstrip())
    if state.src.find("\\]", position + 2, stop) != stop - 2:
        return False
    push_formula(state, position, stop, start, end)
    return True


INLINE = InlineRule("bracketed_math", "\\", _inline, "escape")
BLOCK = ("\\", first_of(environment, _display))
