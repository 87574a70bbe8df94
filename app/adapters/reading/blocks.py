"""The only builder of blocks: reads the content of a page element by element."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import chain, compress, repeat, takewhile
from operator import not_
from typing import ClassVar

from lxml.html import HtmlElement
from lxml.html.defs import tags as HTML_TAGS  # noqa: N812 - a constant

from app.adapters.reading.drafts import EDGE, NO_SPAN, Draft, compose, runs_of, unshown
from app.adapters.reading.inline import inline
from app.adapters.reading.listings import code_language, code_text
from app.adapters.reading.lists_and_tables import (
    glossary_drafts,
    read_list,
    read_table,
    reference_drafts,
)
from app.adapters.reading.sections import is_hint, titled_kind
from app.adapters.reading.tree import Tree, own_id, source_span
from app.domain.document import RUN_BOUNDARY, RUN_GLUE, BlockKind, Figure
from app.domain.errors import FileRefused

_CONTAINERS = {
    role: BlockKind(role)
    for role in ("footnote", "reference", "solution", "exercise", "admonition")
}
"""Kinds of elements that are one block, by their roles; the first of several counts."""
_NO_TEXT = f"{RUN_BOUNDARY}{RUN_GLUE} \n.,;"
_LEVELS = ("1", "2", "3", "4", "5", "6")
_HEADINGS = tuple(f"h{level}" for level in _LEVELS)
_AROUND_HEADING = ("header", "hgroup", "div")
_TITLES = ("caption", "title", "heading", "summary", "term")
"""Attributes of a component that hold its title."""


def page_drafts(tree: Tree, file: str) -> list[Draft]:
    """Return the blocks of a page in reading order, without sections and ids.

    FileRefused if its elements are nested too deeply.
    """
    try:
        return _Blocks(tree).of(tree.content)
    except RecursionError as error:
        raise FileRefused("its elements are nested too deeply", file) from error


class _Blocks:
    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._roles = {
            element: role for role in reversed(self._READERS) for element in tree.roles[role]
        }
        """The first role of an element, in the order of the readers."""
        self._holders: set[HtmlElement] = set()
        """The block-level elements and all elements that hold one."""
        for block in chain(self._roles, tree.roles["tab_panel"], tree.roles["block"]):
            self._holders.add(block)
            above = block.iterancestors()
            self._holders.update(takewhile(lambda one: one not in self._holders, above))

    def of(self, element: HtmlElement) -> list[Draft]:
        """Return the blocks inside an element; text between them makes paragraphs."""
        drafts: list[Draft] = []
        run: list[HtmlElement | str] = []
        if element.text and element.text.strip():
            run.append(element.text)
        for child in element:
            if child in self._holders:
                drafts += self._paragraph_of(run, element)
                run = []
                drafts += self._block(child)
            else:
                run.append(child)
            if child.tail and (run or child.tail.strip()):
                run.append(child.tail)
        return drafts + self._paragraph_of(run, element)

    def _block(self, element: HtmlElement) -> list[Draft]:
        """Return the blocks of one block-level element."""
        role = self._roles.get(element)
        found = self._READERS[role](self, element) if role else self._component(element)
        drafts = [one for one in found if not one.is_blank]
        if len(drafts) == 1 and drafts[0].kind is not BlockKind.HEADING:
            drafts[0].element_id = drafts[0].element_id or own_id(element)
        for draft in drafts:
            if draft.span == NO_SPAN:
                draft.span = source_span(element)
        return drafts

    def _component(self, element: HtmlElement) -> list[Draft]:
        """Return what an element without a role holds, below the title that a component names."""
        title = "" if element.tag in HTML_TAGS else _title_of(element)
        return [*([Draft(BlockKind.PARAGRAPH, title)] if title else []), *self.of(element)]

    def _paragraph_of(self, run: list[HtmlElement | str], element: HtmlElement) -> list[Draft]:
        """Return the paragraph, figure or formula that a run of texts and inline elements is."""
        if not run or (found := inline(run, self._tree)).is_blank:
            return []
        if found.figure is not None or found.text.startswith("$$"):
            if runs_of(found.marked).strip(_NO_TEXT):
                found.figure = None
            else:
                found.kind = BlockKind.FIGURE if found.figure else BlockKind.MATH
        inner = [one for one in run if not isinstance(one, str)]
        is_part = element in self._holders and len(run) < len(element)
        ids = ("" if is_part else own_id(element), *map(own_id, inner))
        found.element_id = next(filter(None, ids), "")
        # A formula that stands among blocks is an element of its own.
        alone = len(inner) == 1 and not any(isinstance(one, str) and one.strip() for one in run)
        found.span = source_span(inner[0] if alone and element in self._holders else element)
        return [found]

    def _heading(self, element: HtmlElement) -> list[Draft]:
        number = element.get("aria-level") or str(element.tag)[1:]
        level = int(number) if number in _LEVELS else 2
        text = inline(element, self._tree).marked.replace("\n", f"{EDGE} {EDGE}")
        return [Draft(BlockKind.HEADING, text, level=level, element_id=_heading_id(element))]

    def _code(self, element: HtmlElement) -> list[Draft]:
        # mdBook writes a listing as one <pre> in another, Scribble, Doxygen, coqdoc as its lines.
        pres = [one for one in element.iter("pre") if one.find(".//pre") is None]
        lines = element.xpath("div[@class='line'] | br")
        if not pres and (lines or element.tag in ("table", "blockquote", "code")):
            pres = [element]
        titles = (one for one in element.iter() if self._tree.has("code_title", one))
        found = _lead_in(next(map(self._label, titles), ""))
        for pre in pres:
            language, own = code_language(pre, element), own_id(pre)
            code = Draft(BlockKind.CODE, code_text(pre), source_span(pre))
            found.append(replace(code, language=language, element_id=own))
        return found if pres else self.of(element)

    def _container(self, element: HtmlElement) -> list[Draft]:
        kind = _CONTAINERS[self._roles[element]]
        drafts = self.of(element)
        titled = next((one for one in drafts if one.title), None)
        drafts = [one for one in drafts if one is not titled]
        title = " ".join(titled.text.split()) if titled else element.get("title") or ""
        if kind is BlockKind.ADMONITION:
            folded, kinds = self._tree.has("folded", element), {one.kind for one in drafts}
            is_code = folded and kinds == {BlockKind.CODE}
            said = drafts[0].text.partition("\n")[0] if is_code else ""  # "# Solution"
            kind = titled_kind(title or said, is_open=not folded)
            is_part = is_code or BlockKind.HEADING in kinds
            if kind is BlockKind.ADMONITION and is_part:
                return [*_lead_in(title), *drafts]  # a part of the page that can be folded
        # Solutions are hidden, so they are no part of the exercise that they stand in.
        is_exercise = kind is BlockKind.EXERCISE
        helps = [is_exercise and (one.kind is BlockKind.SOLUTION or is_hint(one)) for one in drafts]
        own = compose(kind, [*compress(drafts, map(not_, helps))], title)
        own.element_id = own_id(element) or own.element_id
        return [own, *compress(drafts, helps)]

    def _title(self, element: HtmlElement) -> list[Draft]:
        is_heading = element.tag in _HEADINGS
        own = self._heading(element)[0] if is_heading else inline(element, self._tree)
        return [replace(own, title=True, figure=None)]

    def _label(self, element: HtmlElement) -> str:
        return " ".join(inline(element, self._tree).text.split())

    def _tabs(self, element: HtmlElement) -> list[Draft]:
        """Return the blocks of each tab, with its label before them."""
        before = element.getprevious()
        lists = [before] if before is not None and self._tree.has("tab_list", before) else []
        labels, panels = (
            [
                one
                for part in (*lists, element)
                for one in part.iter()
                if self._tree.has(role, one) and self._tab_set_of(one) in (element, None)
            ]
            for role in ("tab_label", "tab_panel")
        )
        names = [self._label(one) for one in labels]
        names = names or [one.get("label") or one.get("title") or "" for one in panels]
        found = []
        for panel, name in zip(panels, chain(names, repeat("")), strict=False):
            drafts = (self._code if self._tree.has("code", panel) else self.of)(panel)
            if drafts and titled_kind(name) is BlockKind.SOLUTION:
                found.append(compose(BlockKind.SOLUTION, drafts, name))
            else:
                found += _labelled(name, drafts)
        return found if panels else self.of(element)

    def _tab_set_of(self, element: HtmlElement) -> HtmlElement | None:
        around = element.iterancestors()
        return next((one for one in around if self._tree.has("tab_set", one)), None)

    def _list(self, element: HtmlElement) -> list[Draft]:
        return self.of(element) if self._is_notes(element) else [read_list(element, self.of)]

    def _is_notes(self, element: HtmlElement) -> bool:
        return any(
            self._tree.has(role, one) for role in ("footnote", "reference") for one in element
        )

    def _table(self, element: HtmlElement) -> list[Draft]:
        is_layout = self._tree.has("layout", element)
        return self.of(element) if is_layout else [read_table(element, self._tree)]

    def _definitions(self, element: HtmlElement) -> list[Draft]:
        if self._is_notes(element):
            return self.of(element)
        inside = []
        for child in element.iter("dt", "dd"):
            if next(child.iterancestors("dl")) is element:
                drafts = self.of(child)
                if drafts:
                    drafts[0].element_id = drafts[0].element_id or own_id(child)
                inside.append((child, drafts))
        is_reference = any(self._tree.has("signature", one) for one in element)
        return (reference_drafts if is_reference else glossary_drafts)(inside)

    def _caption(self, element: HtmlElement) -> list[Draft]:
        return [replace(inline(element, self._tree), figure=None, caption=True)]

    def _figure(self, element: HtmlElement) -> list[Draft]:
        """Return a figure with its caption first; a table or listing with its caption before it."""
        drafts = self.of(element)
        captions = [one for one in drafts if one.caption]
        rest = [one for one in drafts if not one.caption]
        if rest and all(one.kind in (BlockKind.CODE, BlockKind.TABLE) for one in rest):
            return [*captions, *rest]
        figure = compose(BlockKind.FIGURE, [*captions, *rest])
        image = next(element.iter("img"), None)
        if figure.figure is None and image is not None:
            figure.figure = Figure(image.get("src") or "")
        if figure.figure and captions:
            caption = " ".join(one.text for one in captions)
            figure.figure = replace(figure.figure, caption=caption)
        figure.element_id = own_id(element)
        return [figure]

    def _quote(self, element: HtmlElement) -> list[Draft]:
        drafts = self.of(element)
        # Sphinx and Texinfo indent lists and code so.
        speaks = any(one.kind is BlockKind.PARAGRAPH for one in drafts)
        return [compose(BlockKind.QUOTE, drafts)] if speaks else drafts

    # Functions, not bound methods: a cycle would keep each page's tree in memory.
    _READERS: ClassVar[dict[str, Callable[[_Blocks, HtmlElement], list[Draft]]]] = {
        "admonition_title": _title,
        "heading": _heading,
        "code": _code,
        "tab_set": _tabs,
        **dict.fromkeys(_CONTAINERS, _container),
        "tab_list": lambda *_: [],
        "table": _table,
        "list": _list,
        "definitions": _definitions,
        "quote": _quote,
        "figure": _figure,
        "caption": _caption,
    }
    """Of the elements of each role; the first of several counts."""


def _title_of(component: HtmlElement) -> str:
    """Return the title that a component's attributes name: "Listing 3-1: A loop"."""
    title = next(filter(None, map(component.get, _TITLES)), "").replace("`", "")
    title = " ".join(title.split())
    number = component.get("number")
    return f"{str(component.tag).capitalize()} {number}: {title}" if title and number else title


def _lead_in(title: str) -> list[Draft]:
    return [Draft(BlockKind.PARAGRAPH, title + unshown(":"))] if title else []


def _labelled(name: str, drafts: list[Draft]) -> list[Draft]:
    """Put a tab's label before its content: into its first paragraph or as a lead-in."""
    if not name or not drafts:
        return drafts
    first, *rest = drafts
    if first.kind is BlockKind.PARAGRAPH:
        return [replace(first, marked=f"{name}{unshown(':')} {first.marked}"), *rest]
    return [*_lead_in(name), *drafts]


def _heading_id(element: HtmlElement) -> str:
    """Return a heading's id: its own, that of an anchor in it, or that of its section."""
    if ident := element.get("id"):
        return ident
    for inner in element.iter("a", "span"):
        if ident := inner.get("id") or inner.get("name"):
            return ident
    above = element.iterancestors()
    section = next(one for one in above if one.get("id") or one.tag not in _AROUND_HEADING)
    is_first = next(section.iter(*_HEADINGS), None) is element
    return (is_first and section.get("id")) or _anchor_before(element)


def _anchor_before(heading: HtmlElement) -> str:
    """Return the id of the first empty anchor right before a heading; "" if there is none."""
    found = ""
    for before in heading.itersiblings(preceding=True):
        shows = (before.tail or "").strip() or before.find(".//img") is not None
        if before.tag not in ("a", "p", "span") or shows or before.text_content().strip():
            break
        anchors = (one.get("id") or one.get("name") for one in before.iter("a", "span"))
        found = next(filter(None, anchors), found)
    return found
