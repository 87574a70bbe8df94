"""The only builder of blocks: reads the content of a page element by element."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, takewhile

from lxml.html import HtmlElement
from lxml.html.defs import tags as HTML_TAGS  # noqa: N812 - a constant

from app.adapters.reading.definitions import glossary_drafts, reference_drafts
from app.adapters.reading.drafts import NO_SPAN, Draft, compose
from app.adapters.reading.inline import Inline, inline
from app.adapters.reading.listings import code_language, code_text, code_title
from app.adapters.reading.lists import read_list
from app.adapters.reading.sections import titled_kind
from app.adapters.reading.tables import read_table
from app.adapters.reading.tree import Tree, own_id
from app.domain.document import RUN_BOUNDARY, RUN_GLUE, BlockKind, Figure, Span
from app.domain.errors import FileRefused

SPAN = "data-span"
"""Attribute with the source span of an element that is rendered from Markdown: "start:end"."""

_BLOCK_TAGS = frozenset(
    "address article aside blockquote center dd details div dl dt fieldset figcaption figure "
    "footer form h1 h2 h3 h4 h5 h6 header hgroup hr li main ol p pre section summary table tbody "
    "td tfoot th thead tr ul".split()
)
_BLOCK_ROLES = (
    "code", "admonition", "exercise", "solution", "tab_set", "tab_panel", "footnote", "reference",
)  # fmt: skip
_KINDS = {
    "footnote": BlockKind.FOOTNOTE,
    "reference": BlockKind.REFERENCE,
    "solution": BlockKind.SOLUTION,
    "exercise": BlockKind.EXERCISE,
    "admonition": BlockKind.ADMONITION,
    "note": BlockKind.ADMONITION,
}
"""Kinds of elements that are one block, by their roles; the first of several counts."""
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_NO_TEXT = f"{RUN_BOUNDARY}{RUN_GLUE} \n.,;"
_MATH = {"$$": BlockKind.MATH}
"""Kind of a paragraph that is a formula, by its first characters."""
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
        self._holders = _holders(tree)
        self._span: Span = NO_SPAN

    def of(self, element: HtmlElement) -> list[Draft]:
        """Return the blocks inside an element; text between them makes paragraphs."""
        drafts: list[Draft] = []
        run: list[HtmlElement | str] = [element.text] if element.text else []
        for child in element:
            if child in self._holders:
                drafts += self._paragraph_of(run, element)
                run = []
                drafts += self._block(child)
            else:
                run.append(child)
            if child.tail:
                run.append(child.tail)
        return drafts + self._paragraph_of(run, element)

    def _block(self, element: HtmlElement) -> list[Draft]:
        """Return the blocks of one block-level element."""
        before, self._span = self._span, self._span_of(element)
        drafts = self._read(element)
        self._span = before
        if (
            len(drafts) == 1
            and not drafts[0].element_id
            and drafts[0].kind is not BlockKind.HEADING
        ):
            drafts[0].element_id = own_id(element)
        for draft in drafts:
            if draft.span == NO_SPAN:
                draft.span = self._span_of(element)
        return drafts

    def _span_of(self, element: HtmlElement) -> Span:
        start, _, end = (element.get(SPAN) or "").partition(":")
        return (int(start), int(end)) if end else self._span

    def _read(self, element: HtmlElement) -> list[Draft]:
        tag, has = element.tag, self._tree.has
        if tag in _HEADINGS or has("heading", element):
            return self._heading(element)
        if has("code", element):
            return self._code(element)
        if has("tab_set", element):
            return self._tabs(element)
        if container := self._container_kind(element):
            return self._container(element, container)
        return self._by_tag(element)

    def _by_tag(self, element: HtmlElement) -> list[Draft]:  # noqa: PLR0911 - a table of tags
        tag = element.tag
        if element.get("role") == "tablist":
            return []
        if tag in ("ul", "ol", "dl") and self._holds_role(element, ("footnote", "reference")):
            return self.of(element)
        if tag in ("ul", "ol"):
            return _kept(read_list(element, self.of, self._span_of))
        if tag == "table":
            return self._table(element)
        if tag == "dl":
            return self._definitions(element)
        if tag == "blockquote":
            return _kept(compose(BlockKind.QUOTE, self.of(element)))
        if tag not in HTML_TAGS:
            return [*_component_title(element), *self.of(element)]
        if tag == "figure" or (self._tree.has("caption", element) and tag != "caption"):
            return self._figure(element)
        return self.of(element)

    def _holds_role(self, element: HtmlElement, roles: Sequence[str]) -> bool:
        return any(self._tree.has(role, one) for one in element for role in roles)

    def _inline(self, element: HtmlElement) -> Inline:
        return inline(element, self._tree)

    def _paragraph_of(self, run: list[HtmlElement | str], element: HtmlElement) -> list[Draft]:
        """Return the paragraph, figure or formula that a run of texts and inline elements is."""
        if all(isinstance(one, str) and not one.strip() for one in run):
            return []
        found = inline(run, self._tree)
        if not found.text:
            return []
        kind, figure = BlockKind.PARAGRAPH, None
        if not found.runs.strip(_NO_TEXT):
            kind = _MATH.get(found.text[:2], kind)
            if found.image is not None:
                kind, figure = BlockKind.FIGURE, found.image
        ident = "" if element in self._holders and len(run) < len(element) else own_id(element)
        inner = [one for one in run if not isinstance(one, str)]
        ident = ident or next(filter(None, map(own_id, inner)), "")
        # A formula that stands among blocks is an element of its own.
        alone = len(inner) == 1 and not any(isinstance(one, str) and one.strip() for one in run)
        span = self._span_of(inner[0] if alone and element in self._holders else element)
        return [
            Draft(kind, found.text, found.runs, span, terms=found.terms, element_id=ident,
                  figure=figure)
        ]  # fmt: skip

    def _heading(self, element: HtmlElement) -> list[Draft]:
        found = self._inline(element)
        level = _HEADINGS.get(str(element.tag)) or int(element.get("aria-level") or 2)
        anchor = _heading_id(element)
        text = " ".join(found.text.split())
        return [
            Draft(BlockKind.HEADING, text, found.runs, self._span, level=min(max(level, 1), 6),
                  anchor=anchor, element_id=anchor)
        ] if text else []  # fmt: skip

    def _code(self, element: HtmlElement) -> list[Draft]:
        pres = [element] if element.tag == "pre" else list(element.iter("pre"))
        drafts = _lead_in(code_title(element, self._tree))
        for pre in pres:
            text, runs = code_text(pre)
            if text.strip():
                language = code_language(pre, element)
                drafts.append(
                    Draft(BlockKind.CODE, text, runs, self._span_of(pre), language=language,
                          element_id=own_id(pre))
                )  # fmt: skip
        return drafts if pres else self.of(element)

    def _container_kind(self, element: HtmlElement) -> BlockKind | None:
        kinds = (kind for role, kind in _KINDS.items() if self._tree.has(role, element))
        return next(kinds, BlockKind.ADMONITION if element.tag == "details" else None)

    def _container(self, element: HtmlElement, kind: BlockKind) -> list[Draft]:
        title = self._take_title(element)
        if kind is BlockKind.ADMONITION:
            kind = titled_kind(title)
        drafts = self.of(element)
        parts = _split_solutions(drafts) if kind is BlockKind.EXERCISE else [drafts]
        if kind is BlockKind.ADMONITION and _has_sections(drafts):
            return [*_lead_in(title), *drafts]  # a part of the page that can be folded
        own = compose(kind, parts[0], title)
        own.element_id = own_id(element) or own.element_id
        return [*_kept(own), *(one for rest in parts[1:] for one in rest)]

    def _take_title(self, element: HtmlElement) -> str:
        """Return the title of an admonition or of details, and remove its element."""
        for one in element.iter():
            if self._tree.has("admonition_title", one) and one is not element:
                if any(self._container_kind(above) for above in _between(one, element)):
                    continue  # that of a nested one
                title = " ".join(self._inline(one).text.split())
                one.drop_tree()
                return title
        return element.get("title") or ""

    def _tabs(self, element: HtmlElement) -> list[Draft]:
        """Return the blocks of each tab, with its label before them."""
        labels = [one for one in _with_tab_list(element) if self._tree.has("tab_label", one)]
        panels = [one for one in element.iter() if self._tree.has("tab_panel", one)]
        labels = [one for one in labels if _owner(one, self._tree) in (element, None)]
        panels = [one for one in panels if _owner(one, self._tree) is element]
        if not panels:
            return self.of(element)
        names = [" ".join(self._inline(one).text.split()) for one in labels]
        names = names or [one.get("label") or one.get("title") or "" for one in panels]
        names += [""] * (len(panels) - len(names))
        contents = map(self._block_of_panel, panels)
        found = [_labelled(*one) for one in zip(names, contents, strict=False)]
        return [one for drafts in found for one in drafts]

    def _block_of_panel(self, panel: HtmlElement) -> list[Draft]:
        return self._code(panel) if self._tree.has("code", panel) else self.of(panel)

    def _table(self, element: HtmlElement) -> list[Draft]:
        cells = element.iter("pre", "table", "ul", "ol", *_HEADINGS)
        holds_blocks = any(one is not element for one in cells)
        if self._tree.has("layout", element) or (holds_blocks and element.find(".//th") is None):
            return self.of(element)
        return _kept(read_table(element, self._inline, self._span_of))

    def _definitions(self, element: HtmlElement) -> list[Draft]:
        inside = [
            (child, self._block_inside(child))
            for child in element.iter("dt", "dd")
            if _list_of(child) is element
        ]
        is_fields = "field-list" in (element.get("class") or "")
        if is_fields or self._holds_role(element, ["signature"]):
            return reference_drafts(inside)
        return glossary_drafts(inside)

    def _block_inside(self, element: HtmlElement) -> list[Draft]:
        ident = own_id(element)
        drafts = self.of(element)
        if drafts and ident and not drafts[0].element_id:
            drafts[0].element_id = ident
        return drafts

    def _figure(self, element: HtmlElement) -> list[Draft]:
        """Return a figure with its caption first; that of a table or listing is a paragraph."""
        if element.tag != "figure" and self._tree.has("caption", element):
            found = self._inline(element)
            draft = Draft(BlockKind.FIGURE, found.text, found.runs, terms=found.terms, caption=True)
            return _kept(draft)
        drafts = self.of(element)
        captions = [one for one in drafts if one.caption]
        rest = [one for one in drafts if not one.caption]
        if rest and all(one.kind in (BlockKind.CODE, BlockKind.TABLE) for one in rest):
            return [*(replace(one, kind=BlockKind.PARAGRAPH) for one in captions), *rest]
        figure = compose(BlockKind.FIGURE, [*captions, *rest])
        if figure.figure is None and (image := next(element.iter("img"), None)) is not None:
            figure.figure = Figure(image.get("src") or "")
        if figure.figure and captions:
            caption = " ".join(one.text for one in captions)
            figure.figure = replace(figure.figure, caption=caption)
        figure.element_id = own_id(element)
        return _kept(figure)


def _holders(tree: Tree) -> set[HtmlElement]:
    """Return the block-level elements and all elements that hold one."""
    holders: set[HtmlElement] = set()
    blocks = (tree.roles[role] for role in _BLOCK_ROLES)
    for block in chain(tree.content.iter(*_BLOCK_TAGS), *blocks):
        holders.add(block)
        holders.update(takewhile(lambda one: one not in holders, block.iterancestors()))
    return holders


def _kept(draft: Draft) -> list[Draft]:
    return [draft] if draft.text.strip() else []


def _component_title(element: HtmlElement) -> list[Draft]:
    """Return the title that a component's attributes name: "Listing 3-1: A loop"."""
    title = next(filter(None, map(element.get, _TITLES)), "").replace("`", "")
    if not title:
        return []
    number = element.get("number")
    text = f"{str(element.tag).capitalize()} {number}: {title}" if number else title
    return [Draft(BlockKind.PARAGRAPH, text, text)]


def _lead_in(title: str) -> list[Draft]:
    return [Draft(BlockKind.PARAGRAPH, f"{title}:", title)] if title else []


def _labelled(name: str, drafts: list[Draft]) -> list[Draft]:
    """Put a tab's label before its content: into its first paragraph or as a lead-in."""
    if not name or not drafts:
        return drafts
    first, *rest = drafts
    if first.kind is BlockKind.PARAGRAPH:
        runs = f"{name}\x1f{first.runs}"
        return [replace(first, text=f"{name}: {first.text}", runs=runs), *rest]
    return [*_lead_in(name), *drafts]


def _has_sections(drafts: Sequence[Draft]) -> bool:
    return any(one.kind is BlockKind.HEADING for one in drafts)


def _split_solutions(drafts: list[Draft]) -> list[list[Draft]]:
    """Return an exercise's own blocks and, apart, the solutions inside it, which are hidden."""
    own = [one for one in drafts if one.kind is not BlockKind.SOLUTION]
    return [own, [one for one in drafts if one.kind is BlockKind.SOLUTION]]


def _between(inner: HtmlElement, outer: HtmlElement) -> Iterator[HtmlElement]:
    for above in inner.iterancestors():
        if above is outer:
            return
        yield above


def _owner(element: HtmlElement, tree: Tree) -> HtmlElement | None:
    """Return the innermost set of tabs around an element."""
    return next((one for one in element.iterancestors() if tree.has("tab_set", one)), None)


def _with_tab_list(element: HtmlElement) -> Iterator[HtmlElement]:
    """Yield what is in a set of tabs and in the list of labels before it."""
    before = element.getprevious()
    if before is not None and before.get("role") == "tablist":
        yield from before.iter()
    yield from element.iter()


def _list_of(element: HtmlElement) -> HtmlElement | None:
    return next(element.iterancestors("dl"), None)


def _heading_id(element: HtmlElement) -> str:
    """Return a heading's id: its own, that of an anchor in it, or that of its section."""
    if ident := element.get("id"):
        return ident
    for inner in element.iter("a", "span"):
        if ident := inner.get("id") or inner.get("name"):
            return ident
    parent = element.getparent()
    while parent is not None and parent.tag in ("header", "hgroup", "div") and not parent.get("id"):
        parent = parent.getparent()
    first = parent is not None and next(parent.iter(*_HEADINGS), None) is element
    return (parent.get("id") or "") if parent is not None and first else ""
