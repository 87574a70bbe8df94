"""A dialect of Markdown: what a site generator adds to CommonMark and tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

from markdown_it.parser_inline import RuleFuncInlineType
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token
from markdown_it.utils import EnvType

from app.adapters.markdown.book_files import BookFiles
from app.adapters.markdown.includes import NO_DIRECTIVES, FilePart, IncludeStyle, Warn
from app.adapters.markdown.source import SourceFile

BlockRule: TypeAlias = Callable[[StateBlock, int, int, int, bool], bool]
"""`rule(state, position, start line, end line, silent)`: True if it reads a block there."""


class InlineRule(NamedTuple):
    """A rule for markdown-it's inline parser."""

    name: str
    characters: str
    """The characters that its mark-up may begin with."""
    read: RuleFuncInlineType
    before: str = "html_inline"
    """The existing rule before which it is tried."""


class Imports(Protocol):
    """The files that one page imports; see `docusaurus.syntax`."""

    pages: dict[str, str]
    """Component name -> the Markdown file that the component shows."""
    texts: dict[str, str]
    """Name -> the file whose text the name holds."""

    def read(self, tokens: Sequence[Token]) -> None:
        """Record the imports among these block tokens."""
        ...


class CrossReferences(Protocol):
    """Resolves cross-references to the text that the page shows; see `myst`."""

    def shown(self, role: str, target: str, file: str, template: str) -> str:
        """Return the text of a reference of this role in `file`; "" if its target is unknown."""
        ...


VisibleCode: TypeAlias = Callable[[str, str, str], str]
"""`visible(text, language, info string)` -> the lines of a code block that the page shows."""
CodeFile: TypeAlias = Callable[[str, str, str, Callable[[str], None]], FilePart | None]
"""`file(info string, text, site root, warn)` -> the file that a code block shows instead of its
text; `warn(message)` reports code that cannot be read."""
ImportReader: TypeAlias = Callable[[BookFiles, SourceFile, str, Warn], Imports]
"""`reader(the book's files, page, site root, warn)`."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """Switches for constructs that several dialects share, then hooks."""

    attribute_lists: bool = False
    """`{#id .class}` after headings and blocks."""
    inline_attributes: bool = False
    """`{#id .class}` after spans."""
    comment_expressions: bool = False
    """MDX's `{/* note */}`: not shown."""
    template_tags: bool = False
    """Tags of template languages inside text (`{% tag %}`, `{{< name >}}`): not shown."""
    directives: bool = False
    """`:::name[title]{attributes}`."""
    math: bool = False
    """`$x$` and `$$x$$`."""
    spaced_math: bool = False
    """Whether `$ x $` is a formula, too."""
    definition_lists: bool = False
    """`: definition` below its term."""
    loose_references: bool = False
    """`[text] [label]`, and `[label][^note]`, as Python-Markdown reads them."""
    indented_code: bool = True
    closing_hashes: bool = False
    """`# Title # {#id}`: the hashes before a heading's attribute list are not shown."""
    marked_terms: bool = False
    """Whether only explicitly marked phrases are terms; otherwise emphasised phrases are, too."""
    heading_ids: tuple[tuple[str, re.Pattern[str]], ...] = ()
    """Other notations of a heading's id: first characters, and a pattern with the group `id`."""
    block_rules: tuple[tuple[str, BlockRule], ...] = ()
    """Block rules, each with the first character or word of its blocks."""
    inline_rules: tuple[InlineRule, ...] = ()
    link_target: re.Pattern[str] | None = None
    """Targets of links that CommonMark does not allow."""
    rewrite_code_spans: Callable[[str], str] | None = None
    """Applied to running text that has code spans, before it is parsed."""
    adapt_tokens: Callable[[str, Sequence[Token], EnvType], Sequence[Token]] | None = None
    """`adapt(inline source, its tokens, environment)` -> the tokens to show."""
    visible_code: VisibleCode | None = None
    code_file: CodeFile | None = None
    own_substitutions: Callable[[Mapping[str, object]], dict[str, str]] | None = None
    """`own(front matter)` -> the page's substitutions: key -> source of the text it shows."""
    includes: IncludeStyle = NO_DIRECTIVES
    imports: ImportReader | None = None
