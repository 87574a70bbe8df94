"""MyST's Markdown: directives, labels, comments, cell breaks, roles, docutils' anchors."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace

from markdown_it.rules_block import StateBlock

from app.adapters.markdown.myst.directives import SILENT, directive
from app.adapters.markdown.myst.roles import CITATIONS, ROLES, name_targets
from app.adapters.markdown.myst.substitutions import SUBSTITUTIONS, of_front_matter
from app.adapters.markdown.parser.anchors import SlugStyle, unique_github
from app.adapters.markdown.parser.block_rules import (
    display_math,
    emit,
    environment,
    mark_rule,
)
from app.adapters.markdown.parser.container_kinds import ADMONITIONS
from app.adapters.markdown.parser.dialect import Dialect
from app.adapters.markdown.parser.drafts import Markup, MarkupClass

_LABEL = re.compile(r"\((?P<label>[^()\n]+)\)=[ \t]*$", re.M)
_DOTTED = re.compile(
    r"\.\. (?P<name>[\w:-]+?)::(?P<argument>[^\n]*)$(?:\n[ \t]+:[\w-]+:[^\n]*$)*", re.M
)
_ATTRIBUTES = re.compile(
    r"\{(?:[:#.]|[\w-]+=(?:\"[^\"{}\n]*\"|[\w.-]+)(?=[ \t}]))[^{}\n]*\}[ \t]*$", re.M
)
_ATTRIBUTE_ID = re.compile(r"[{\s]#(?P<label>[^\s{}]+)")
_COMMENT = re.compile(r"%[^\n]*$", re.M)
_CELL_BREAK = re.compile(r"\+{3,}[^\n]*$|\^{3,}[ \t]*$", re.M)


def _label(state: StateBlock, position: int, start: int, end: int, silent: bool) -> bool:
    match = _LABEL.match(state.src, position)
    if match is None:
        return False
    mark = _label_mark(match["label"].strip(), match)
    return silent or emit(state, mark, start, end)


def _attributes(state: StateBlock, position: int, start: int, end: int, silent: bool) -> bool:
    """Read `{#id .class}` on the line before a block: its id is a label."""
    match = _ATTRIBUTES.match(state.src, position)
    if match is None:
        return False
    found = _ATTRIBUTE_ID.search(match.group())
    mark = Markup(MarkupClass.ATTRIBUTE_LIST, *match.span())
    if found is not None:
        mark = _label_mark(found["label"], match)
    return silent or emit(state, mark, start, end)


def _label_mark(name: str, match: re.Match[str]) -> Markup:
    return Markup(MarkupClass.LABEL, *match.span(), name=name, argument=docutils_slug(name))


def _dotted_directive(state: StateBlock, position: int, start: int, end: int, silent: bool) -> bool:
    """Read the header and the options of a reStructuredText directive in `{eval-rst}`."""
    match = _DOTTED.match(state.src, position) if state.env.get("rst") else None
    if match is None:
        return False
    has_text = match["name"] in ADMONITIONS and match["argument"].strip()
    stop = match.start("argument") if has_text else match.end()
    if match["name"] in SILENT:
        stop = max(stop, state.eMarks[_last_indented(state, start, end)])
    return silent or emit(state, Markup(MarkupClass.DIRECTIVE, position, stop), start, end)


def _last_indented(state: StateBlock, start: int, end: int) -> int:
    """Return the last line that is indented below line `start`."""
    last = start
    for line in range(start + 1, end):
        if state.isEmpty(line):
            continue
        if state.sCount[line] <= state.sCount[start]:
            break
        last = line
    return last


def _dense_math(state: StateBlock, position: int, start: int, end: int, silent: bool) -> bool:
    """Read `$$...$$` that has no empty line inside."""
    stop = state.env.get("dense_until", 0)
    if stop <= start:
        stop = start + 1
        while stop < state.lineMax and not state.isEmpty(stop):
            stop += 1
        state.env["dense_until"] = stop
    return display_math(state, position, start, min(stop, end), silent)


_DIGRAPHS = {0xDF: "sz", 0xE6: "ae", 0x153: "oe", 0x238: "db", 0x239: "qp"}
_STROKED = dict(
    zip(
        (ord(char) for char in "øđħıłŧƀƃƈƌƒƙƚƞƥƫƭƴƶǥȥȴȵȶȷȼȿɀɇɉɋɍɏ"),
        "odhiltbbcdfklnpttyzgzlntjcszejqry",
        strict=True,
    )
)


def docutils_slug(text: str) -> str:
    """`docutils.nodes.make_id`."""
    lowered = text.lower().translate(_DIGRAPHS).translate(_STROKED)
    folded = unicodedata.normalize("NFKD", lowered).encode("ascii", "ignore").decode("ascii")
    dashed = re.sub(r"[^a-z0-9]+", "-", " ".join(folded.split()))
    return re.sub(r"^[-0-9]+|-+$", "", dashed)


def _unique_docutils(base: str, used: dict[str, int]) -> str:
    slug = base
    while not slug or slug in used:
        used["\0id"] = used.get("\0id", 0) + 1
        slug = f"id{used[chr(0) + 'id']}"
    used[slug] = 0
    return slug


DIALECT = Dialect(
    attribute_lists=True,
    inline_attributes=True,
    math=True,
    definition_lists=True,
    block_rules=(
        ("{", _attributes),
        ("`", directive),
        ("~", directive),
        (":", directive),
        ("(", _label),
        ("%", mark_rule(_COMMENT, MarkupClass.COMMENT)),
        ("+", mark_rule(_CELL_BREAK, MarkupClass.RULE)),
        ("^", mark_rule(_CELL_BREAK, MarkupClass.RULE)),
        (".", _dotted_directive),
        ("\\", environment),
    ),
    inline_rules=(ROLES, SUBSTITUTIONS),
    own_substitutions=of_front_matter,
    adapt_tokens=name_targets,
)
STYLE = SlugStyle(docutils_slug, _unique_docutils)


# --- mystmd -------------------------------------------------------------------------------------


def mystmd_slug(text: str) -> str:
    """`createHtmlId` of a normalised label."""
    name = re.sub(r"['\"‘’“”]", "", " ".join(text.split())).lower()
    dashed = re.sub(r"[^a-z0-9-]", "-", name)
    prefixed = f"id-{dashed}" if re.match(r"[0-9-]", dashed) else dashed
    return re.sub(r"-{2,}", "-", prefixed).strip("-")


def _unique_mystmd(base: str, used: dict[str, int]) -> str:
    """Number repeated ids. The first heading is the page's title, whose id is not counted."""
    if not used:
        used["\0title"] = 0
        return base
    return unique_github(base, used)


MYSTMD_DIALECT = replace(
    DIALECT,
    spaced_math=True,
    block_rules=(*DIALECT.block_rules, ("$", _dense_math)),
    inline_rules=(*DIALECT.inline_rules, CITATIONS),
)
MYSTMD_STYLE = SlugStyle(mystmd_slug, _unique_mystmd)
