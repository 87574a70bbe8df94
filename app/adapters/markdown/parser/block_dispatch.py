"""Dispatches block rules by a line's first character, and limits nesting and tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from markdown_it.parser_block import RuleFuncBlockType
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token

from app.domain.errors import FileRefused
from app.domain.reading_budget import BUDGET

_FIRST_CHARACTERS: Mapping[str, str] = {
    "fence": "`~",
    "blockquote": ">",
    "hr": "*-_",
    "list": "*+-0123456789",
    "footnote": "[",
    "reference": "[",
    "heading": "#",
    # `deflist`, `table` and `lheading` are recognised by their second line.
    "deflist": ":~",
    "table": "",
    "lheading": "",
    "code": "",
    "paragraph": "",
}
"""First characters of these rules' blocks; rules not listed have the dialect's characters."""
_COMMONMARK = frozenset("#>`~*+-_=|:<[0123456789\t ")
"""First characters of the blocks of CommonMark, tables and definition lists."""

_UNDERLINE = re.compile(r"(?:=+|-+)[ \t]*$")

_Rules = Mapping[str, Sequence[RuleFuncBlockType]]


@dataclass(slots=True)
class Section:
    """Collects the tokens of a part of a file, and counts those of the whole file."""

    budget: int
    """Maximum tokens of the whole file; a file with more is refused."""
    most: int
    """A section ends with the first top-level block after this many tokens."""
    consume: Callable[[list[Token]], None]
    counted: int = 0

    def take(self, tokens: list[Token]) -> None:
        self.counted += len(tokens)
        self.consume(tokens)
        tokens.clear()


class BlockRuleDispatcher:
    """The first block rule: tries only the rules that a line's first character allows.

    A line that begins no block is a paragraph: markdown-it's own rule finds the same lines, but
    here they become one `paragraph` token. A line that may begin a table, a definition list, an
    underlined heading, indented code or one of the dialect's words is left to the other rules.
    """

    def __init__(
        self,
        rules: Mapping[str, RuleFuncBlockType],
        terminators: Mapping[str, RuleFuncBlockType],
        own: frozenset[str],
    ) -> None:
        """Index `rules`, and those that may end a paragraph, by first character.

        `own`: the first characters and words of the dialect's own blocks.
        """
        characters = frozenset(begin for begin in own if len(begin) == 1)
        self._words = tuple(own - characters)
        self._rules = _by_first_character(rules, characters)
        self._terminators = _by_first_character(terminators, characters)
        self._special = _COMMONMARK | characters | {"!", "\\"}  # and a figure or a formula
        self._definitions = rules.get("deflist")
        self._underlined = "lheading" in rules
        self._two_line_blocks = not {"table", "lheading", "deflist"}.isdisjoint(rules)

    def __call__(self, state: StateBlock, start: int, end: int, silent: bool) -> bool:
        first = state.bMarks[start] + state.tShift[start]
        source = state.src
        if state.level >= BUDGET.depth:
            self._refuse(state, start, f"nested over {BUDGET.depth} levels deep: nest less")
        if len(state.tokens) > state.env["section"].most:
            self._end_section(state, start)
        if silent or first >= state.eMarks[start] or state.is_code_block(start):
            return False
        rules = self._rules.get(source[first], ())
        if source.startswith(self._words, first):
            return False
        if self._two_line_blocks and self._may_be_two_line_block(state, start + 1, end):
            return not rules and self._entry_or_definitions(state, start, end)
        for rule in rules:  # not `any`: its frame would double the depth of the call stack
            if rule(state, start, end, False):
                return True
        return self._paragraph(state, start, first)

    def _paragraph(self, state: StateBlock, start: int, first: int) -> bool:
        """Read a paragraph. False if it is an underlined heading of several lines."""
        source, after, limit = state.src, start + 1, state.lineMax
        terminators: Sequence[RuleFuncBlockType]
        old_parent, state.parentType = state.parentType, "paragraph"
        while after < limit:
            begin = state.bMarks[after] + state.tShift[after]
            if begin >= state.eMarks[after]:
                break
            if (
                self._underlined
                and _UNDERLINE.match(source, begin, state.eMarks[after])
                and (0 <= state.sCount[after] - state.blkIndent <= 3)
            ):
                state.parentType = old_parent
                return False
            if self._two_line_blocks and self._may_divide(state, after + 1, limit):
                terminators = state.md.block.ruler.getRules("paragraph")
            else:
                terminators = self._terminators.get(source[begin], ())
            if terminators:
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
            token.meta = {"span": (first, first + len(content))}
        else:
            token.content = state.getLines(start, after, state.blkIndent, False).strip()
        return True

    def _entry_or_definitions(self, state: StateBlock, start: int, end: int) -> bool:
        """Read a term's definitions before a line of dashes behind them makes all a heading."""
        if self._definitions is None:
            return False
        return self._entry(state, start, end) or self._definitions(state, start, end, False)

    def _entry(self, state: StateBlock, start: int, end: int) -> bool:
        """Read a term and a definition of one line each as one token."""
        line = start + 1
        if (
            state.isEmpty(line)
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
            or "{{" in source[begin:stop]
            or state.is_code_block(line)
        ):
            return False
        token = state.push("entry", "", 0)
        token.map = [start, line + 1]
        first = state.bMarks[start] + state.tShift[start]
        token.content = content = source[begin:stop].rstrip()
        token.meta = {
            "term": source[first : state.eMarks[start]].rstrip(),
            "span": (first, begin + len(content)),
            "definition": begin,
        }
        state.line = line + 1
        return True

    def _ends_entry(self, state: StateBlock, line: int, end: int) -> bool:
        """True if what follows a definition of one line cannot belong to it."""
        line += 1
        if line >= end:
            return True
        if not state.isEmpty(line):
            return "^" in self._rules and self._begins_with(state, line, "^")
        while line < end and state.isEmpty(line):
            line += 1
        return line >= end or (
            state.sCount[line] <= state.blkIndent and not self._begins_with(state, line, ":~")
        )

    def _end_section(self, state: StateBlock, start: int) -> None:
        section: Section = state.env["section"]
        if section.counted + len(state.tokens) > section.budget:
            self._refuse(state, start, "too much mark-up for its length: split the file")
        # Inside a container, or after mark-up on the same line, the last block is incomplete.
        if state.level == 0 and not state.env.get("line_depth"):
            section.take(state.tokens)

    def _refuse(self, state: StateBlock, line: int, message: str) -> NoReturn:
        raise FileRefused(message, state.env["file"], line + 1)

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


def _by_first_character(rules: Mapping[str, RuleFuncBlockType], own: Iterable[str]) -> _Rules:
    table: dict[str, list[RuleFuncBlockType]] = {}
    for name, rule in rules.items():
        for character in _FIRST_CHARACTERS.get(name, own):
            table.setdefault(character, []).append(rule)
    return table
