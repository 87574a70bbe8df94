"""Paragraphs, found without asking every other block rule about every line."""

from __future__ import annotations

from markdown_it.parser_block import RuleFuncBlockType
from markdown_it.rules_block import StateBlock

from app.adapters.markdown.syntax import StructureRule

_COMMONMARK = frozenset("#>`~*+-_=|:<[0123456789\t ")
"""What a block of CommonMark, a table or a definition list may begin with."""


class PlainParagraph:
    """CommonMark's paragraph rule, tried before all others on lines that no other block begins.

    Such a line may still be a table's or a definition list's first, an underlined heading or ESM,
    which are looked for here; so most lines of a book need none of the other rules. It finds the
    same lines as markdown-it's own rule, but makes one `paragraph` token of them.
    """

    def __init__(
        self,
        structure: StructureRule,
        esm: bool,
        two_line_blocks: bool,
        definitions: RuleFuncBlockType | None,
        max_nesting: int,
    ) -> None:
        # A list adds two levels at once.
        self._deepest = max_nesting - 2
        self._structure = structure
        # Letters that begin ESM are looked at closer.
        self._special = _COMMONMARK | (structure.characters - {"i", "e"})
        # What only the dialect's own rule takes needs none of the rules between.
        self._structural = frozenset("<^{$") & structure.characters
        self._esm = esm
        self._two_line_blocks = two_line_blocks
        self._definitions = definitions

    def __call__(self, state: StateBlock, start: int, end: int, silent: bool) -> bool:
        first = state.bMarks[start] + state.tShift[start]
        source = state.src
        if state.level >= self._deepest:
            return not silent and self._bottom(state, start, end)
        if silent or first >= state.eMarks[start] or state.is_code_block(start):
            return False
        if source[first] in self._special:
            return (
                source[first] in self._structural
                and not (self._two_line_blocks and self._may_divide(state, start + 1, end))
                and self._structure(state, start, end, False)
            )
        if self._esm and source.startswith(("import", "export"), first):
            return False
        if self._two_line_blocks and self._may_be_two_line_block(state, start + 1, end):
            return self._entry(state, start, end) or (
                self._definitions is not None and self._definitions(state, start, end, False)
            )
        self._paragraph(state, start, first)
        return True

    def _paragraph(self, state: StateBlock, start: int, first: int) -> None:
        source, after, limit = state.src, start + 1, state.lineMax
        old_parent, state.parentType = state.parentType, "paragraph"
        terminators = state.md.block.ruler.getRules("paragraph")
        while after < limit:
            begin = state.bMarks[after] + state.tShift[after]
            if begin >= state.eMarks[after]:
                break
            if source[begin] in self._special or (
                self._two_line_blocks and self._may_divide(state, after + 1, limit)
            ):
                indent = state.sCount[after]
                if (
                    indent - state.blkIndent <= 3
                    and indent >= 0
                    and any(rule(state, after, limit, True) for rule in terminators)
                ):
                    break
            after += 1
        state.parentType = old_parent
        state.line = after
        token = state.push("paragraph", "p", 0)
        token.map = [start, after]
        if after == start + 1:
            token.content = content = source[first : state.eMarks[start]].rstrip()
            token.meta["span"] = (first, first + len(content))
        else:
            token.content = state.getLines(start, after, state.blkIndent, False).strip()

    def _entry(self, state: StateBlock, start: int, end: int) -> bool:
        """Read a term and its definition of one line each, the common case, as one token."""
        line = start + 1
        if (
            self._definitions is None
            or state.isEmpty(line)
            or state.sCount[line] < state.blkIndent
            or not self._ends_entry(state, line, end)
        ):
            return False
        source, stop = state.src, state.eMarks[line]
        marker = state.bMarks[line] + state.tShift[line]
        begin = state.skipSpaces(marker + 1)
        if (
            source[marker] not in ":~"
            or begin == marker + 1
            or begin >= stop
            or source[begin] in self._special
            or source[begin] in "!\\"  # a figure or a formula
            or "{{" in source[begin:stop]
            or state.is_code_block(line)
        ):
            return False
        token = state.push("entry", "", 0)
        token.map = [start, line + 1]
        first = state.bMarks[start] + state.tShift[start]
        token.meta["term"] = source[first : state.eMarks[start]].rstrip()
        token.meta["span"] = (
            first,
            stop - len(source[begin:stop]) + len(source[begin:stop].rstrip()),
        )
        token.meta["definition"] = begin
        token.content = source[begin:stop].rstrip()
        state.line = line + 1
        return True

    def _ends_entry(self, state: StateBlock, line: int, end: int) -> bool:
        """True if nothing behind a definition's only line can belong to it or its term."""
        line += 1
        if line >= end:
            return True
        if not state.isEmpty(line):
            return "^" in self._special and self._begins_with(state, line, "^")
        while line < end and state.isEmpty(line):
            line += 1
        return line >= end or (
            state.sCount[line] <= state.blkIndent and not self._begins_with(state, line, ":~")
        )

    def _bottom(self, state: StateBlock, start: int, end: int) -> bool:
        """Take what is nested too deeply as text: markdown-it would drop it."""
        token = state.push("paragraph", "p", 0)
        token.map = [start, end]
        token.content = state.getLines(start, end, state.blkIndent, False).strip()
        state.line = end
        return True

    def _may_be_two_line_block(self, state: StateBlock, after: int, end: int) -> bool:
        """True if what follows may make the line a heading, a table's first row or a term."""
        if after >= end:
            return False
        if not state.isEmpty(after):
            return self._may_divide(state, after, end)
        return after + 1 < end and self._begins_with(state, after + 1, ":~")

    def _may_divide(self, state: StateBlock, line: int, end: int) -> bool:
        return line < end and self._begins_with(state, line, "|:-=~")

    def _begins_with(self, state: StateBlock, line: int, characters: str) -> bool:
        begin = state.bMarks[line] + state.tShift[line]
        return begin < state.eMarks[line] and state.src[begin] in characters
