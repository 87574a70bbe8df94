"""What a parse finds beside Markdown's own blocks: classified mark-up and raw elements."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple, TypeAlias

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
