"""Which tags and directives are containers, and the kind of block that each becomes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

from app.adapters.markdown.parser.drafts import BlockDraft, Markup
from app.adapters.markdown.parser.tags import HtmlTag
from app.domain.document import BlockKind

ADMONITIONS = frozenset(
    "abstract admonition attention bug callout caution check danger definition error example "
    "failure fail faq hint important info infobox key-concept keyconcept note question quote "
    "remark secondary see seealso success summary tip tldr todo topic warning".split()
)
EXERCISES = frozenset(
    "exercise exercises problem challenge question quiz checkpoint practice activity "
    "tryit try-it yourturn injected-exercise".split()
)
SOLUTIONS = frozenset("solution answer answers solutions".split())
SOLUTION_TITLE = re.compile(
    r"^\W*(?:show |view |see |reveal |click .{0,20}|the |sample |model |possible |hidden ){0,6}"
    r"(?:solutions?|answers?|hints? and solutions?)\b.{0,60}$",
    re.IGNORECASE,
)


_EXERCISE_TITLE = re.compile(
    r"^\W*(?:exercises?|problem|challenge|task)\b(?:\W*$|\W*\d)", re.IGNORECASE
)


@dataclass(slots=True)
class Container:
    """An open container.

    With `capture`, the content becomes one block of `kind`. Without, its blocks stay separate, and
    paragraphs and lists get `kind`. `role` is the role of text directly inside: "title",
    "summary", "heading" or "caption".
    """

    name: str
    start: int
    kind: BlockKind | None = None
    capture: bool = False
    role: str = ""
    title: str = ""
    level: int = 0
    author_id: str = ""
    title_end: int = 0
    """Where the title ends in the source."""
    drafts: list[BlockDraft] = field(default_factory=list)
    ends_sections: bool = False
    """Whether the sections that begin inside end with it."""
    headings_before: int = 0
    """Number of headings without `section_end` when it was opened."""


_BY_DATA_TYPE = {
    "note": BlockKind.ADMONITION,
    "exercise": BlockKind.EXERCISE,
    "injected-exercise": BlockKind.EXERCISE,
    "problem": BlockKind.EXERCISE,
    "question-stem": BlockKind.EXERCISE,
    "solution": BlockKind.SOLUTION,
    "question-solution": BlockKind.SOLUTION,
    "footnote-refs": BlockKind.FOOTNOTE,
}
_SECTIONING = frozenset({"details", "section", "article", "aside"})
_BY_TAG = {
    "blockquote": BlockKind.QUOTE,
    "figure": BlockKind.FIGURE,
    "aside": BlockKind.ADMONITION,
}


_COMPONENTS = (
    (SOLUTIONS, BlockKind.SOLUTION),
    (EXERCISES, BlockKind.EXERCISE),
    (ADMONITIONS, BlockKind.ADMONITION),
    (frozenset({"figure"}), BlockKind.FIGURE),
)
_DIRECTIVES = (
    (SOLUTIONS, BlockKind.SOLUTION),
    (EXERCISES, BlockKind.EXERCISE),
    (ADMONITIONS | {"sidebar", "margin", "marginnote", "aside"}, BlockKind.ADMONITION),
    (frozenset({"epigraph", "pull-quote", "blockquote"}), BlockKind.QUOTE),
    (frozenset({"figure", "image", "iframe", "figure-md"}), BlockKind.FIGURE),
)
_TITLES = ("title", "summary", "caption", "heading", "term")
"""Attributes of a component that hold its title."""
_UNTITLED = frozenset({"tabs", "tabitem", "tab", "codeblock", "codegroup"})
"""Components whose title is a navigation label."""


def admonition_name(name: str) -> str:
    """Return the name of a dialect's admonition: one of no known kind is a general one."""
    return name if any(name.lower() in names for names, _ in _DIRECTIVES) else "admonition"


def titled_kind(title: str) -> BlockKind:
    """Return the kind of an admonition: its title may make it an exercise or a solution."""
    if SOLUTION_TITLE.match(title):
        return BlockKind.SOLUTION
    return BlockKind.EXERCISE if _EXERCISE_TITLE.match(title) else BlockKind.ADMONITION


def container_of(mark: Markup) -> Container:
    """Return the container that `mark` opens."""
    if mark.tag is None:
        return _directive_container(mark)
    name, kind, role, title, level, author_id = _tag_facts(mark.tag.name, mark.tag.inside)
    return Container(
        name,
        mark.start,
        kind,
        kind is not None and kind is not BlockKind.FOOTNOTE,
        role,
        title,
        level,
        author_id,
        mark.end,
        ends_sections=mark.tag.is_component or name in _SECTIONING,
    )


def _directive_container(mark: Markup) -> Container:
    name = mark.name.lower()
    kind = next((kind for names, kind in _DIRECTIVES if name in names), None)
    if kind is BlockKind.ADMONITION or (name == "question" and mark.argument.endswith("?")):
        kind = titled_kind(mark.argument)
    elif kind is BlockKind.EXERCISE and SOLUTION_TITLE.match(mark.argument):
        kind = BlockKind.SOLUTION
    role = {"table": "table", "list-table": "table", "caption": "caption"}.get(name, "")
    return Container(
        mark.opens,
        mark.start,
        kind,
        kind is not None,
        role,
        mark.argument,
        author_id=mark.label,
        title_end=mark.end,
        ends_sections=True,
    )


_Facts: TypeAlias = "tuple[str, BlockKind | None, str, str, int, str]"
"""Fields of a container: name, kind, role, title, level, author's id."""


@lru_cache(maxsize=4096)
def _tag_facts(tag_name: str, inside: str) -> _Facts:
    """Return the fields of the container of an opening tag. Cached: books repeat few tags often."""
    tag = HtmlTag(tag_name, 0, 0, inside=inside)
    name, data_type, author_id = tag_name.lower(), tag.get("data-type"), tag.get("id")
    kind: BlockKind | None = None
    role, title, level = "", "", 0
    if data_type in ("title", "document-title"):
        role = "title"
    elif data_type in _BY_DATA_TYPE:
        kind = _BY_DATA_TYPE[data_type]
    elif tag.is_component or "-" in name:
        kind, role, title = _component_facts(tag)
    elif name == "summary":
        role = "summary"
    elif re.fullmatch(r"h[1-6]", name):
        role, level = "heading", int(name[1])
    else:
        kind = _BY_TAG.get(name)
    return tag_name, kind, role, title, level, author_id


def _component_facts(tag: HtmlTag) -> tuple[BlockKind | None, str, str]:
    name = tag.name.lower()
    if name == "listing":
        return None, "listing", ""
    title = next(filter(None, map(tag.get, _TITLES)), "")
    for names, kind in _COMPONENTS:
        if name in names:
            return kind, "", title
    return None, "", "" if name in _UNTITLED else title
