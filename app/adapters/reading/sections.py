"""The sections of a page, and the kinds that their headings give to blocks: exercises, solutions,
glossary entries, references.
"""

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import TypeAlias

from app.adapters.reading.drafts import Draft, compose
from app.adapters.reading.inline import MAX_TERM_WORDS
from app.domain.document import BlockKind

_Patterns: TypeAlias = dict[BlockKind, re.Pattern[str]]
_TABLES = tomllib.loads(Path(__file__).with_name("sections.toml").read_text("utf-8"))


def _patterns(table: str, before: str = "") -> _Patterns:
    return {
        BlockKind(kind): re.compile(before + words.replace("\n", ""), re.IGNORECASE)
        for kind, words in _TABLES[table].items()
    }


_NUMBER = r"\d[\d.]*[.:)]?\s+"
_PLACE = (
    rf"(?:{_NUMBER}|(?:appendix|anhang|annexe|apéndice|chapter|kapitel|chapitre|capítulo|capitolo)"
    r"\s\w{1,2}\s?[^\w\s]?\s|(?-i:[B-HJ-Z]|[A-Z]\.)[\d.]*\s)?"
)
"""Before a name: "4.2", "Appendix A —", "C.1"; "A" alone may be the article."""
_SECTIONS, _CHAPTERS = _patterns("section", _PLACE), _patterns("chapter", _PLACE)
_BY_EXERCISES = _patterns("by exercises", rf"(?:{_NUMBER}|(?-i:[A-Z])\s)?")
"""Below or right behind exercises; as a page's title, above "Exercise 2"."""
_ITEMS, _TITLES, _HINTS, _PARAGRAPHS = map(_patterns, ("item", "title", "hint", "paragraph"))
_LEADING_TERM = re.compile(r"^(?P<term>[^:–—\n]{1,80}?)\s*(?::|\s[–—-]\s)")
_MAX_CAPTION = 600
_SEPARATE = frozenset(
    {BlockKind.EXERCISE, BlockKind.SOLUTION, BlockKind.ADMONITION, BlockKind.GLOSSARY_ENTRY,
     BlockKind.FOOTNOTE, BlockKind.REFERENCE}
)  # fmt: skip
"""Blocks that do not become part of an exercise or entry around them."""
_LABELLED = (BlockKind.PARAGRAPH, BlockKind.QUOTE)
"""Blocks that may begin with an emphasised "Exercise 1.2"."""


@dataclass(frozen=True, slots=True)
class Section:
    level: int
    path: tuple[str, ...]
    """The page's title and the headings down to its own."""
    anchor: str
    """The id of the innermost heading that has one."""
    holds: BlockKind | None
    """Kind of the blocks in it and in the sections below it; None if they may be any."""
    item: BlockKind | None = None
    """If set, the section's own content becomes one block of this kind."""


def titled_kind(title: str, *, is_open: bool = False) -> BlockKind:
    """Return the kind of an admonition or of details: the title may make it an exercise, or a
    solution, which is hidden from answers like a hint. An open hint is one only by an exercise.
    """
    kind = _named(_TITLES, title)
    return BlockKind.ADMONITION if kind is None or (is_open and _named(_HINTS, title)) else kind


def is_hint(draft: Draft) -> bool:
    """Whether it is an admonition that is a hint if it stands by an exercise; else it is a tip."""
    return draft.kind is BlockKind.ADMONITION and _named(_HINTS, draft.text) is not None


def _named(patterns: _Patterns, text: str) -> BlockKind | None:
    return next((kind for kind, pattern in patterns.items() if pattern.match(text)), None)


def in_sections(
    drafts: Sequence[Draft], title: str, chapter: str
) -> Iterator[tuple[Draft, Section]]:
    """Yield the blocks, with the kinds that their sections' headings give them, and their sections.

    That of the heading with the page's title is the page. A chapter may be one of solutions.
    """
    headings = [one for one in drafts if one.kind is BlockKind.HEADING]
    page = next((one for one in headings if one.text == title), None)
    solves = BlockKind.SOLUTION in (_named(_SECTIONS, chapter), _named(_CHAPTERS, chapter))
    holds = BlockKind.SOLUTION if solves else _named(_SECTIONS, title)
    above = [Section(-1, (title,), "", holds)]
    run: list[Draft] = []
    for draft in _with_captions(drafts):
        if draft.kind is not BlockKind.HEADING:
            run.append(draft)
            continue
        yield from _typed(run, above[-1])
        run = []
        is_page = draft is page or (draft.level == 1 and draft.text == title)
        level, before = 0 if is_page else draft.level, above[-1]
        while above[-1].level >= level:
            before = above.pop()
        near = (above[-1], before)
        by_exercises = any(BlockKind.EXERCISE in (one.holds, one.item) for one in near)
        above.append(_section(draft, level, above[-1], by_exercises=by_exercises))
        yield draft, above[-1]
    yield from _typed(run, above[-1])


def _with_captions(drafts: Sequence[Draft]) -> list[Draft]:
    """Give figures the captions below them; a caption that the page marks as one joins its figure.

    Other captions are paragraphs that begin with "Figure 1".
    """
    joined: list[Draft] = []
    for draft in drafts:
        above = joined[-1] if joined else draft
        image = above.figure and replace(above.figure, caption=draft.text)
        if draft.caption and above.kind is BlockKind.FIGURE:
            joined[-1] = replace(compose(BlockKind.FIGURE, [draft, above]), figure=image)
            continue
        if (
            (above.figure and not above.figure.caption)
            and (draft.kind is BlockKind.PARAGRAPH and len(draft.marked) <= _MAX_CAPTION)
            and _PARAGRAPHS[BlockKind.FIGURE].match(draft.text)
        ):
            joined[-1] = replace(above, figure=image)
        joined.append(draft)
    return joined


def _section(heading: Draft, level: int, parent: Section, *, by_exercises: bool) -> Section:
    text, own = heading.text, _named(_SECTIONS, heading.text)
    own = own or (_named(_BY_EXERCISES, text) if by_exercises else None)
    entries = parent.holds is BlockKind.GLOSSARY_ENTRY and parent.item is None and len(text) > 1
    is_item = own is None and (entries or parent.holds is BlockKind.EXERCISE)
    item = _named(_ITEMS, text) or (parent.holds if is_item else None)
    around = parent.holds or _named(_BY_EXERCISES, parent.path[0])
    if around is BlockKind.SOLUTION and item is BlockKind.EXERCISE:
        item = around  # "Exercise 2" names what is solved
    path = (*parent.path, text) if level else parent.path
    return Section(level, path, heading.element_id or parent.anchor, own or parent.holds, item)


def _typed(run: Sequence[Draft], section: Section) -> Iterator[tuple[Draft, Section]]:
    """Yield the blocks between two headings with the kinds that their section gives them."""
    if section.item is not None:
        found = _joined(run, section.item, section.path[-1])
    else:
        found = (one for draft in run for one in _items(draft, section.holds))
    before = section.holds
    for one in found:
        if is_hint(one) and BlockKind.EXERCISE in (before, section.holds):
            one.kind = BlockKind.SOLUTION
        if one.kind is not BlockKind.SOLUTION:
            before = one.kind
        yield one, section


def _joined(run: Sequence[Draft], kind: BlockKind, heading: str) -> Iterator[Draft]:
    for is_separate, drafts in groupby(run, key=lambda one: one.kind in _SEPARATE):
        if is_separate:
            yield from drafts
            continue
        item = compose(kind, list(drafts))
        yield replace(item, terms=(heading,)) if kind is BlockKind.GLOSSARY_ENTRY else item


def _items(draft: Draft, kind: BlockKind | None) -> list[Draft]:
    """Return a paragraph, or the items of a list, with a section's kind if they are of it."""
    is_list = draft.kind is BlockKind.LIST
    label = next(iter(draft.terms), "")
    is_labelled = label and draft.kind in _LABELLED and draft.text.startswith(label)
    if is_labelled and (own := _named(_ITEMS, draft.text[: len(label) + len(": A")])):
        return [replace(draft, kind=own)]
    if kind is BlockKind.REFERENCE and draft.kind is BlockKind.GLOSSARY_ENTRY:
        return [replace(draft, kind=kind, terms=())]  # works by their keys: "[1]"
    if kind is BlockKind.SOLUTION and draft.kind not in _SEPARATE:
        return [compose(kind, [one]) for one in draft.items or [draft]]
    if kind is None or not (is_list or draft.kind is BlockKind.PARAGRAPH):
        return [draft]
    items = [*draft.items] or [draft]
    if kind is BlockKind.GLOSSARY_ENTRY:
        terms = [_term(one, in_list=is_list) for one in items]
        pairs = zip(items, terms, strict=True)
        entries = [replace(one, kind=kind, terms=(term,)) for one, term in pairs]
        return entries if all(terms) else [draft]
    is_of_kind = kind in _PARAGRAPHS and (is_list or _PARAGRAPHS[kind].match(draft.text))
    return [replace(one, kind=kind) for one in items] if is_of_kind else [draft]


def _term(entry: Draft, *, in_list: bool) -> str:
    """Return the term that an entry begins with; "" if it is none.

    It is marked as one or, in a list, short and before a colon or a dash.
    """
    marked = next(iter(entry.terms), "")
    begins = _LEADING_TERM.match(entry.text)
    if begins and (marked in begins["term"] if marked else in_list):
        term = begins["term"].strip()
        return term if marked or term.count(" ") < MAX_TERM_WORDS else ""
    return marked if entry.text.startswith(marked) and len(entry.text) > len(marked) + 2 else ""
