"""Kinds of blocks that follow from their title or their section's heading: exercises, solutions,
glossary entries, references.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from app.adapters.reading.drafts import Draft, compose
from app.adapters.reading.inline import MAX_TERM_WORDS
from app.domain.document import RUN_BOUNDARY, BlockKind

_NUMBER = r"(?:\d[\d.]*[.:)]?\s+)?"
_LABEL = r"\s*#?\s*[\dA-Z]?[\d.]*\d\w?\b"
_ROLES = {
    "exercises": re.compile(
        rf"^{_NUMBER}(?:end[- ]of[- ]chapter |chapter |review |practice |self[- ]check )*"
        r"(?:exercises?|problems|review questions|practice(?: problems| questions)?)\W*$", re.I
    ),
    "glossary": re.compile(
        rf"^{_NUMBER}(?:glossary(?: of .*|\W*)|(?:key terms|vocabulary)\W*)$", re.I
    ),
    "references": re.compile(
        rf"^{_NUMBER}(?:references|bibliography|works cited|(?:further|suggested) readings?|"
        r"literature(?: cited)?|sources|citations)\W*$", re.I
    ),
    "solutions": re.compile(
        rf"^{_NUMBER}(?:(?:exercise )?solutions?|answers?(?: key)?)\b.{{0,40}}$", re.I
    ),
}  # fmt: skip
_EXERCISE = re.compile(rf"^exercise{_LABEL}", re.I)
_PROBLEM = re.compile(rf"^(?:problem|challenge|question){_LABEL}", re.I)
_SOLUTION = re.compile(r"^(?:solution|answer)s?\s*(?:to|for)?\b.*\d", re.I)
_OF_EXERCISES = re.compile(
    r"\b(?:exercises?|problems|problem sets?|homework|assignments?|practice|quiz|exams?)\b", re.I
)
"""In a heading above, it makes a problem an exercise."""
_TITLED_SOLUTION = re.compile(
    r"^\W*(?:show |view |see |reveal |click .{0,20}|the |sample |model |possible |hidden ){0,6}"
    r"(?:solutions?|answers?|hints?)\b.{0,60}$", re.I
)  # fmt: skip
_TITLED_EXERCISE = re.compile(
    r"^\W*(?:exercises?|problems?|challenge|task|checkpoint|quiz)\b(?:\W*$|\W*\d)", re.I
)
_NAMES_WORK = re.compile(
    r"\b(?:1[5-9]|20)\d\d\b|https?://|\bdoi\b|\bisbn\b|\barxiv\b|\bpp?\.\s?\d|\bet al\b", re.I
)
_NUMBERED = re.compile(r"^(?:(?:exercise|problem|question)\s*)?\d[\d.]*[a-z]?[.:)]\s*\S", re.I)
_LEADING_TERM = re.compile(r"^(?P<term>[^:–—\n]{1,80}?)\s*(?::|\s[–—-]\s)")
_MARKER = re.compile(r"^(?:-|\w{1,6}\.) ")
_SEPARATE = frozenset(
    {BlockKind.EXERCISE, BlockKind.SOLUTION, BlockKind.ADMONITION, BlockKind.GLOSSARY_ENTRY,
     BlockKind.FOOTNOTE, BlockKind.REFERENCE}
)  # fmt: skip
"""Blocks that do not become part of an exercise or entry around them."""


@dataclass(slots=True)
class _Section:
    level: int = 0
    role: str = ""
    """A key of `_ROLES`, for the section and those below it."""
    item: BlockKind | None = None
    """If set, the section's own content becomes one block of this kind."""
    term: str = ""
    of_exercises: bool = False


def titled_kind(title: str) -> BlockKind:
    """Return the kind of an admonition or of details: the title may make it an exercise, or a
    solution, which is hidden from answers like a hint.
    """
    if _TITLED_SOLUTION.match(title):
        return BlockKind.SOLUTION
    return BlockKind.EXERCISE if _TITLED_EXERCISE.match(title) else BlockKind.ADMONITION


def classify(drafts: Sequence[Draft], title: str) -> list[Draft]:
    """Return the blocks with the kinds that their sections' headings give them."""
    evidence = bool(_OF_EXERCISES.search(title)) or any(map(_is_evidence, drafts))
    open_sections = [_Section(role=_role_of(title), of_exercises=evidence)]
    result: list[Draft] = []
    run: list[Draft] = []
    for draft in _with_captions(drafts):
        if draft.kind is not BlockKind.HEADING:
            run.append(draft)
            continue
        result += [*_settle(run, open_sections[-1]), draft]
        run = []
        while open_sections[1:] and open_sections[-1].level >= draft.level:
            open_sections.pop()
        open_sections.append(_section(draft, open_sections[-1]))
    return result + _settle(run, open_sections[-1])


def _is_evidence(draft: Draft) -> bool:
    """Whether a block shows that its page has exercises."""
    if draft.kind is BlockKind.HEADING:
        return bool(_EXERCISE.match(draft.text) or _SOLUTION.match(draft.text))
    return draft.kind in (BlockKind.EXERCISE, BlockKind.SOLUTION)


def _with_captions(drafts: Iterable[Draft]) -> list[Draft]:
    """Join captions that stand alone to the figure before them."""
    joined: list[Draft] = []
    for draft in drafts:
        if draft.caption and joined and joined[-1].kind is BlockKind.FIGURE:
            figure = compose(BlockKind.FIGURE, [draft, joined.pop()])
            shown = figure.figure and replace(figure.figure, caption=draft.text)
            joined.append(replace(figure, figure=shown))
        else:
            joined.append(draft)
    return joined


def _role_of(heading: str) -> str:
    return next((role for role, pattern in _ROLES.items() if pattern.match(heading)), "")


def _section(heading: Draft, parent: _Section) -> _Section:
    text, role = heading.text, _role_of(heading.text)
    section = _Section(heading.level, role or parent.role)
    section.of_exercises = parent.of_exercises or bool(_OF_EXERCISES.search(text))
    if _EXERCISE.match(text) or (parent.of_exercises and _PROBLEM.match(text)):
        section.item = BlockKind.EXERCISE
    elif _SOLUTION.match(text):
        section.item = BlockKind.SOLUTION
    elif not role and parent.role == "exercises":
        section.item = BlockKind.EXERCISE
    elif not role and parent.role == "glossary" and len(text) > 1 and parent.item is None:
        section.item, section.term = BlockKind.GLOSSARY_ENTRY, text
    return section


def _settle(run: list[Draft], section: _Section) -> list[Draft]:
    """Return the blocks between two headings with the kinds of their section."""
    if section.item is not None:
        return list(_items(run, section.item, section.term))
    if section.role == "exercises":
        return [one for draft in run for one in _as_exercises(draft)]
    if section.role == "glossary":
        return [one for draft in run for one in _as_entries(draft)]
    if section.role == "references" and _names_works(run):
        return [one for draft in run for one in _as_references(draft)]
    return run


def _items(run: list[Draft], kind: BlockKind, term: str) -> Iterator[Draft]:
    held: list[Draft] = []
    for draft in [*run, None]:
        if draft is not None and draft.kind not in _SEPARATE:
            held.append(draft)
            continue
        if held:
            item = compose(kind, held)
            yield replace(item, terms=(term,)) if term else item
            held = []
        if draft is not None:
            yield draft


def split_list(draft: Draft, kind: BlockKind) -> list[Draft]:
    """Return the items of a list as blocks of their own, without bullets."""
    runs = draft.runs.split(RUN_BOUNDARY)
    single = len(runs) == len(draft.parts)
    items = []
    for number, part in enumerate(draft.parts):
        is_bullet = part.text.startswith("- ")
        text = part.text[2:].replace("\n  ", "\n") if is_bullet else part.text
        own = runs[number] if single else _MARKER.sub("", text)
        terms = tuple(term for term in draft.terms if text.startswith(term))
        items.append(Draft(kind, text, own, (part.start, part.end), terms=terms))
    return items


def _as_exercises(draft: Draft) -> list[Draft]:
    if draft.kind is BlockKind.LIST:
        return split_list(draft, BlockKind.EXERCISE)
    if draft.kind is BlockKind.PARAGRAPH and _NUMBERED.match(draft.text):
        return [replace(draft, kind=BlockKind.EXERCISE)]
    return [draft]


def _names_works(run: Iterable[Draft]) -> bool:
    """Whether blocks are mostly works, not the prose of a chapter on references, say, in code."""
    prose = [one for one in run if one.kind in (BlockKind.PARAGRAPH, BlockKind.LIST)]
    works = [one for one in prose if one.kind is BlockKind.LIST or _NAMES_WORK.search(one.text)]
    return 2 * len(works) >= len(prose)


def _as_references(draft: Draft) -> list[Draft]:
    if draft.kind is BlockKind.LIST:
        return split_list(draft, BlockKind.REFERENCE)
    is_prose = draft.kind is BlockKind.PARAGRAPH
    return [replace(draft, kind=BlockKind.REFERENCE) if is_prose else draft]


def _as_entries(draft: Draft) -> list[Draft]:
    """Convert a glossary's paragraph, or a list in which every item is an entry."""
    if draft.kind is not BlockKind.LIST:
        return [_as_entry(draft)]
    items = [_as_entry(one) for one in map(_with_leading_term, split_list(draft, draft.kind))]
    return items if all(one.kind is BlockKind.GLOSSARY_ENTRY for one in items) else [draft]


def _with_leading_term(item: Draft) -> Draft:
    begins = _LEADING_TERM.match(item.text)
    item = replace(item, kind=BlockKind.PARAGRAPH)
    if begins and not item.terms and begins["term"].count(" ") < MAX_TERM_WORDS:
        return replace(item, terms=(begins["term"],))  # if all items have this form
    return item


def _as_entry(draft: Draft) -> Draft:
    """Convert a paragraph that begins with a term and a colon or a dash."""
    if draft.kind is not BlockKind.PARAGRAPH or not draft.terms:
        return draft
    term, match = draft.terms[0], _LEADING_TERM.match(draft.text)
    if match and term in match["term"]:
        return replace(draft, kind=BlockKind.GLOSSARY_ENTRY, terms=(match["term"].strip(),))
    if draft.text.startswith(term) and len(draft.text) > len(term) + 2:
        return replace(draft, kind=BlockKind.GLOSSARY_ENTRY, terms=(term,))
    return draft
