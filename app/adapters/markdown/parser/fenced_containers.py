"""Containers between fences, such as MyST's directives, whose content is Markdown."""

from __future__ import annotations

from markdown_it.rules_block import StateBlock

from app.adapters.markdown.parser.block_rules import push_found, read_inside
from app.adapters.markdown.parser.drafts import Markup, MarkupClass


def closing_line(state: StateBlock, fence: str, line: int, end: int) -> int:
    """Return the line of the closing fence, or `end` if there is none.

    A failed search is remembered, so all searches together take linear time.
    """
    unclosed: dict[str, tuple[int, int]] = state.env.setdefault("unclosed_fences", {})
    since, until = unclosed.get(fence, (end + 1, end))
    if line >= since and end <= until:
        return end
    character = fence[0]
    for at in range(line, end):
        begin = state.bMarks[at] + state.tShift[at]
        if begin < state.eMarks[at]:
            if state.sCount[at] < state.blkIndent:
                return at
            if state.src[begin] == character:
                text = state.src[begin : state.eMarks[at]].rstrip()
                if len(text) >= len(fence) and not text.strip(character):
                    return at
    unclosed[fence] = line, end
    return end


def read_container(
    state: StateBlock, opening: Markup, lines: tuple[int, int, int, int], closes: str
) -> None:
    """Emit a container and read its content in place.

    `lines`: those of the opening fence, of the content, after the content, after the container.
    """
    begin, first, last, stop = lines
    push_found(state, opening, begin, first)
    read_inside(state, first, last)
    end = state.eMarks[stop - 1]
    start = state.bMarks[last] if last < stop else end
    closing = Markup(MarkupClass.DIRECTIVE, min(start, end), end, closes=closes)
    push_found(state, closing, stop - 1, stop)
