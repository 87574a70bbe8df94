"""What a parse finds beside Markdown's own blocks: classified mark-up, raw elements, dialects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from markdown_it.rules_block import StateBlock

from app.adapters.markdown.parser.tags import HtmlTag


class MarkupClass(StrEnum):
    """The named classes of mark-up that hold no text of the book."""

    FRONT_MATTER = "front_matter"
    ESM = "esm"
    TAG = "tag"
    DIRECTIVE = "directive"
    ATTRIBUTE_LIST = "attribute_list"
    COMMENT = "comment"
    EXPRESSION = "expression"
    REFERENCE_DEFINITION = "reference_definition"
    INCLUDE = "include"
    LABEL = "label"
    RULE = "rule"
    EMBED = "embed"


class Markup(NamedTuple):
    """A stretch of mark-up at `source[start:end]`.

    `opens` and `closes` name the container that begins or ends here: a tag's name, or the colons
    of a directive. `name` is a directive's name, an include's path or a label's id.
    """

    kind: MarkupClass
    start: int
    end: int
    tag: HtmlTag | None = None
    opens: str = ""
    closes: str = ""
    name: str = ""
    argument: str = ""
    label: str = ""
    """An id that a directive's options give."""


MarkupSpan: TypeAlias = tuple[MarkupClass, int, int]
"""A stretch of mark-up as coverage counts it: class, start, end."""


class RawElement(NamedTuple):
    """An HTML element read whole, whose content is not Markdown: a table, `<pre>`, MathML."""

    tag: HtmlTag
    start: int
    end: int
    inner_start: int
    inner_end: int


@dataclass(frozen=True, slots=True)
class Directive:
    """A directive's header: name, argument, options and where its body's lines are."""

    name: str
    argument: str
    options: dict[str, str]
    opening: int
    """The line of the opening fence."""
    first: int
    """First line of the body."""
    last: int
    """The line behind the body."""
    stop: int
    """The line behind the directive."""


BlockRule: TypeAlias = Callable[[StateBlock, int, int, int, bool], bool]
"""`rule(state, position, start line, end line, silent)`: True if it reads a block there."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """Which constructs beyond CommonMark and its tables a source file may use."""

    mdx: bool = False
    """ESM, JSX, `{expressions}`; no indented code."""
    directives: bool = False
    """`:::name[title]{attributes}`."""
    kramdown: bool = False
    """`{: #id .class key="value"}`."""
    attribute_lists: bool = False
    """`{#id .class}` behind headings, blocks and spans."""
    foreign_ids: bool = False
    """Of headings in other generators' notations: `# Title[[id]]`, `# Title {/*id*/}`."""
    templates: bool = False
    """`{#if}`, `{% tag %}`, `{{< shortcode >}}` on lines of their own."""
    mdbook: bool = False
    """`{{#include}}` and hidden code lines."""
    mkdocs: bool = False
    """`!!! note`, `=== "tab"`, `--8<--`."""
    myst: bool = False
    """Directives, roles, labels, `%` comments."""
    math: bool = False
    """`$x$` and `$$x$$`."""
    extensions: frozenset[str] = frozenset()
    """MkDocs: what the site's `markdown_extensions` switch on, as `mark` or `emoji`."""
    definition_lists: bool = False
    """`: definition` below its term."""
    block_rules: tuple[tuple[str, BlockRule], ...] = ()
    """The dialect's own block rules, each with the character that its blocks begin with."""
