"""A dialect of Markdown: what a site generator adds to CommonMark and tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

from markdown_it.parser_inline import RuleFuncInlineType
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token
from markdown_it.utils import EnvType

from app.adapters.markdown.includes import NO_DIRECTIVES, IncludeStyle, Library, Warn
from app.adapters.markdown.source import SourceFile

BlockRule: TypeAlias = Callable[[StateBlock, int, int, int, bool], bool]
"""`rule(state, position, start line, end line, silent)`: True if it reads a block there."""


class InlineRule(NamedTuple):
    """A rule for markdown-it's inline parser."""

    name: str
    characters: str
    """What its mark-up may begin with."""
    read: RuleFuncInlineType
    before: str = "html_inline"
    """The rule that it is tried before."""


class Imports(Protocol):
    """The files that one page imports; see `docusaurus.syntax`."""

    pages: dict[str, str]
    """Component name -> the Markdown file that it shows."""
    texts: dict[str, str]
    """Name -> the file whose text it holds."""

    def read(self, tokens: Sequence[Token]) -> None:
        """Note the imports among these block tokens."""
        ...


class CrossReferences(Protocol):
    """What a page shows for its references to other places of the book; see `myst`."""

    def shown(self, role: str, target: str, file: str, template: str) -> str:
        """Return what a reference of this role, written in `file`, shows; "" if not known."""
        ...


ImportReader: TypeAlias = Callable[[Library, SourceFile, str, Warn], Imports]
"""`reader(the book's files, page, site root, warn)`."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """The first fields switch on constructs that several dialects share; the rest are hooks."""

    attribute_lists: bool = False
    """`{#id .class}` behind headings and blocks."""
    inline_attributes: bool = False
    """`{#id .class}` behind spans."""
    directives: bool = False
    """`:::name[title]{attributes}`."""
    math: bool = False
    """`$x$` and `$$x$$`."""
    definition_lists: bool = False
    """`: definition` below its term."""
    indented_code: bool = True
    closing_hashes: bool = False
    """`# Title # {#id}`: the hashes before a heading's attribute list are not shown."""
    marked_terms: bool = False
    """Whether only phrases that are marked as terms are terms, not all that are emphasised."""
    heading_ids: tuple[tuple[str, re.Pattern[str]], ...] = ()
    """Other notations of a heading's id: what each begins with, and a pattern with group `id`."""
    block_rules: tuple[tuple[str, BlockRule], ...] = ()
    """Block rules, each with the character or the word that its blocks begin with."""
    inline_rules: tuple[InlineRule, ...] = ()
    rewrite_code_spans: Callable[[str], str] | None = None
    """Applied to running text that has code spans, before it is parsed."""
    adapt_tokens: Callable[[str, Sequence[Token], EnvType], Sequence[Token]] | None = None
    """`adapt(inline source, its tokens, environment)` -> the tokens to show."""
    visible_code: Callable[[str, str], str] | None = None
    """`visible(text, language)` -> the lines of a code block that the page shows."""
    includes: IncludeStyle = NO_DIRECTIVES
    imports: ImportReader | None = None
