"""Block kinds that follow from headings: exercises, solutions, glossary entries, references."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from app.adapters.markdown.parser.drafts import BlockDraft, merge, split_list
from app.adapters.markdown.parser.running_text import MAX_TERM_WORDS
from app.domain.answering.bibliography import names_work
from app.domain.document import BlockKind

_NUMBER = r"(?:\d[\d.]*[.:)]?\s+)?"
_EXERCISES = re.compile(
    rf"^{_NUMBER}(?:end[- ]of[- ]chapter |chapter |review |practice |self[- ]check |discussion )*"
    r"(?:exercises|exercise|problems|review questions|practice(?: problems| questions)?)\W*$",
    re.I,
)
_LABEL = r"\s*#?\s*[\dA-Z]?[\d.]*\d\w?\b"
_PROBLEM = re.compile(rf"^(?:problem|challenge|question){_LABEL}", re.I)
"""It may begin a heading that states a difficulty, such as "Problem 1 - memory footprint"."""
_EXERCISE = re.compile(rf"^exercise{_LABEL}|{_PROBLEM.pattern}[^\w(]*+(?:\([^()]*+\))?+\W*+$", re.I)
"""`Exercise 1 - Owls`, `Problem 1`, `Problem 1 (10 points)`"""
_OF_EXERCISES = re.compile(
    r"\b(?:exercises?|problems|problem sets?|challenges|homework|assignments?|practice|quiz|exams?)"
    r"\b",
    re.I,
)
"""In a heading above, it makes a problem an exercise."""
_SOLUTIONS = re.compile(
    rf"^{_NUMBER}(?:(?:exercise )?solutions?|answers?(?: key)?)\b.{{0,40}}$", re.I
)
_SOLUTION = re.compile(r"^(?:solution|answer)s?\s*(?:to|for)?\b.*\d", re.I)
_GLOSSARY = re.compile(rf"^{_NUMBER}(?:glossary(?: of .*|\W*)|(?:key terms|vocabulary)\W*)$", re.I)
_REFERENCES = re.compile(
    rf"^{_NUMBER}(?:references|bibliography|works cited|further readings?|suggested readings?|"
    r"literature(?: cited)?|sources|citations)\W*$",
    re.I,
)
_LEADING_TERM = re.compile(r"^(?P<term>[^:–—\n]{1,80}?)\s*(?::|\s[–—-]\s)")
_NUMBERED = re.compile(r"^(?:(?:exercise|problem|question)\s*)?\d[\d.]*[a-z]?[.:)]\s*\S", re.I)
_LEAVES = frozenset(
    {
        BlockKind.PARAGRAPH,
        BlockKind.LIST,
        BlockKind.CODE,
        BlockKind.TABLE,
        BlockKind.QUOTE,
        BlockKind.FIGURE,
        BlockKind.MATH,
    }
)


T = TypeVar("T")


@dataclass(slots=True)
class OpenSections(Generic[T]):
    """The sections that are open at a place of the page, outermost first."""

    open: list[tuple[int, T]] = field(default_factory=list)
    """Each with its heading's level."""
    _containers: list[tuple[int, list[tuple[int, T]]]] = field(default_factory=list)
    """Where a container with sections ends, and the sections that are open after it."""

    def leave(self, start: int) -> bool:
        """End the sections of containers that end before a block; return whether there are any."""
        left = False
        while self._containers and start >= self._containers[-1][0]:
            self.open, left = self._containers.pop()[1], True
        return left

    def enter(self, heading: BlockDraft) -> None:
        """End the sections of a heading's level and below."""
        end = heading.section_end
        if end and (not self._containers or end < self._containers[-1][0]):
            self._containers.append((end, self.open.copy()))
        while self.open and self.open[-1][0] >= heading.level:
            self.open.pop()


@dataclass(slots=True)
class _Section:
    """An open section: the kinds that its blocks get."""

    role: str = ""
    """"exercises", "solutions", "glossary" or "references", for it and its subsections."""
    item: BlockKind | None = None
    """If set, the section's own content becomes one block of this kind."""
    term: str = ""
    is_question: bool = False
    """Whether its heading is a question."""
    of_exercises: bool = False
    """Whether the page has exercises or solutions, or a heading above speaks of exercises."""


def classify(drafts: Sequence[BlockDraft], title: str) -> list[BlockDraft]:
    """Join captions to their figures and set the kinds that follow from headings."""
    result: list[BlockDraft] = []
    sections: OpenSections[_Section] = OpenSections()
    of_exercises = bool(_OF_EXERCISES.search(title)) or any(map(_is_evidence, drafts))
    page = current = _Section(_role_of(title), of_exercises=of_exercises)
    run: list[BlockDraft] = []
    for draft in _with_captions(drafts):
        heading = draft.kind is BlockKind.HEADING
        if sections.leave(draft.start) or heading:
            result.extend(_settle(run, current))
            run = []
            if heading:
                sections.enter(draft)
                parent = sections.open[-1][1] if sections.open else page
                sections.open.append((draft.level, _open_section(draft, parent)))
                result.append(draft)
            current = sections.open[-1][1] if sections.open else page
        if not heading:
            run.append(draft)
    result.extend(_settle(run, current))
    return result


def _is_evidence(draft: BlockDraft) -> bool:
    """Whether a block shows that its page has exercises."""
    if draft.kind is BlockKind.HEADING:
        return bool(_EXERCISE.match(draft.text) or _SOLUTION.match(draft.text))
    return draft.kind in (BlockKind.EXERCISE, BlockKind.SOLUTION)


def _with_captions(drafts: Iterable[BlockDraft]) -> list[BlockDraft]:
    joined: list[BlockDraft] = []
    for draft in drafts:
        last = joined[-1] if joined else None
        if (
            draft.caption
            and last is not None
            and last.kind is BlockKind.FIGURE
            and not last.included
        ):
            figure = merge(BlockKind.FIGURE, [last, draft])
            figure.title = draft.text
            joined[-1] = figure
        else:
            joined.append(draft)
    return joined


_ROLES = (
    (_EXERCISES, "exercises"),
    (_GLOSSARY, "glossary"),
    (_REFERENCES, "references"),
    (_SOLUTIONS, "solutions"),
)


def _role_of(heading: str) -> str:
    return next((role for pattern, role in _ROLES if pattern.match(heading)), "")


def _is_exercise(text: str, parent: _Section) -> bool:
    exercise = _EXERCISE.match(text) or (parent.of_exercises and _PROBLEM.match(text))
    return bool(exercise)


def _open_section(heading: BlockDraft, parent: _Section) -> _Section:
    text = heading.text
    own_role = _role_of(text)
    section = _Section(own_role or parent.role)
    section.is_question = text.endswith(("?", "\uff1f"))
    section.of_exercises = parent.of_exercises or bool(_OF_EXERCISES.search(text))
    if _is_exercise(text, parent):
        section.item = BlockKind.EXERCISE
    elif _SOLUTION.match(text):
        section.item = BlockKind.SOLUTION
    elif not own_role and parent.role == "exercises":
        section.item = BlockKind.EXERCISE
    elif not own_role and _may_be_term(text, parent):
        section.item, section.term = BlockKind.GLOSSARY_ENTRY, text
    return section


def _may_be_term(heading: str, parent: _Section) -> bool:
    """True if a heading in a glossary is a term; a single letter is not."""
    return parent.role == "glossary" and len(heading) > 1 and parent.item is None


def _settle(run: list[BlockDraft], section: _Section) -> list[BlockDraft]:
    """Return the blocks between two headings with the kinds of their section."""
    if section.item is not None:
        return _as_items(run, section.item, section.term)
    if section.is_question and [one.kind for one in run] == [BlockKind.LIST, BlockKind.SOLUTION]:
        return _as_items(run, BlockKind.EXERCISE, "")  # a question with choices
    convert = _BY_ROLE.get(section.role)
    if convert is _as_references and not _names_works(run):
        return run
    return [item for draft in run for item in convert(draft)] if convert else run


def _as_items(run: list[BlockDraft], kind: BlockKind, term: str) -> list[BlockDraft]:
    result: list[BlockDraft] = []
    leaf_blocks: list[BlockDraft] = []
    for draft in [*run, None]:
        if draft is not None and draft.kind in _LEAVES and not draft.included:
            leaf_blocks.append(draft)
            continue
        if leaf_blocks:
            item = merge(kind, leaf_blocks)
            if len(leaf_blocks) == 1 and not item.parts[1:]:
                item.parts = leaf_blocks[0].parts
            if term:
                item.terms = (term,)
            result.append(item)
            leaf_blocks = []
        if draft is not None:
            result.append(draft)
    return result


def _names_works(run: Iterable[BlockDraft]) -> bool:
    """Whether blocks are mostly works, not the prose of a chapter on references, say, in code."""
    prose = [draft for draft in run if draft.kind in (BlockKind.PARAGRAPH, BlockKind.LIST)]
    works = [
        draft
        for draft in prose
        if draft.kind is BlockKind.LIST or names_work(draft.text, draft.end - draft.start)
    ]
    return 2 * len(works) >= len(prose)


def _as_references(draft: BlockDraft) -> list[BlockDraft]:
    if draft.kind is BlockKind.PARAGRAPH:
        draft.kind = BlockKind.REFERENCE
    elif draft.kind is BlockKind.LIST:
        return split_list(draft, BlockKind.REFERENCE)
    return [draft]


def _as_exercises(draft: BlockDraft) -> list[BlockDraft]:
    if draft.kind is BlockKind.LIST:
        return split_list(draft, BlockKind.EXERCISE)
    if draft.kind is BlockKind.PARAGRAPH and _NUMBERED.match(draft.text):
        draft.kind = BlockKind.EXERCISE
    return [draft]


def _as_entries(draft: BlockDraft) -> list[BlockDraft]:
    """Convert a glossary's paragraph, or a list in which every item is an entry."""
    if draft.kind is not BlockKind.LIST:
        _as_entry(draft)
        return [draft]
    items = split_list(replace(draft), BlockKind.PARAGRAPH)
    for item in items:
        begins = _LEADING_TERM.match(item.text)
        if begins and not item.terms and begins["term"].count(" ") < MAX_TERM_WORDS:
            item.terms = (begins["term"],)  # if all items have this form, the term need not be bold
        _as_entry(item)
    entries = all(item.kind is BlockKind.GLOSSARY_ENTRY for item in items)
    return items if entries else [draft]


def _as_entry(draft: BlockDraft) -> None:
    """Convert a paragraph that begins with a bold term and a colon or a dash."""
    if draft.kind is not BlockKind.PARAGRAPH or not draft.terms:
        return
    match = _LEADING_TERM.match(draft.text)
    if match and draft.terms[0] in match["term"]:
        draft.kind, draft.terms = BlockKind.GLOSSARY_ENTRY, (match["term"].strip(),)
    elif draft.text.startswith(draft.terms[0]) and len(draft.text) > len(draft.terms[0]) + 2:
        draft.kind, draft.terms = BlockKind.GLOSSARY_ENTRY, draft.terms[:1]


_BY_ROLE: dict[str, Callable[[BlockDraft], list[BlockDraft]]] = {
    "exercises": _as_exercises,
    "glossary": _as_entries,
    "references": _as_references,
}
"""Converts the blocks directly in a section, by the section's role."""
