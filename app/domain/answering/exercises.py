"""Exercises of the book: found by number, repeated by a question, with their solutions."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from enum import StrEnum
from itertools import groupby, pairwise

from app.domain.answering.intents import EXERCISE_NOUNS, with_figures
from app.domain.answering.units import NEVER_QUOTED
from app.domain.chunking.chunk import Passage
from app.domain.document import BlockKind
from app.domain.languages import in_any
from app.domain.retrieval.query import ContextPassage, Hit
from app.domain.terms import QUESTION_MARKS, Terms, words

SAME_TERMS = 0.75
"""A question with a higher Jaccard similarity to the terms of an exercise asks about it."""
FEWEST_TERMS = 3
"""Minimum number of terms of a question that is compared with exercises."""

_LABEL_NOUNS = f"{EXERCISE_NOUNS}|{in_any('label')}"
_LABEL = re.compile(rf"(?<!\S)(?:{_LABEL_NOUNS})((?: \d{{1,3}}(?!\S))+)")
_LABEL_WORDS = 6
"""Words in which a label is looked for: "3. Exercise 10.3" has four."""

TASKS = frozenset({BlockKind.EXERCISE, BlockKind.SOLUTION})


class Solutions(StrEnum):
    """What is shown if the question is an exercise of the book."""

    HIDE = "hide"
    """Only the paragraphs to read first."""
    HINT = "hint"
    """Quotations from those paragraphs as well."""
    SHOW = "show"
    """The solution in the book, if it has one; otherwise an ordinary answer."""


def exercises(context: Sequence[ContextPassage]) -> list[ContextPassage]:
    """Return the exercises in reading order.

    If the heading above an exercise asks the question, its text replaces the exercise: the text
    below it has choices, often with their solution.
    """
    found = []
    for one in context:
        passage, heading = one.passage, "".join(one.passage.heading_path[-1:])
        if passage.kind is BlockKind.EXERCISE:
            asks = heading.endswith(QUESTION_MARKS)
            asked = replace(passage, text=heading, kind=BlockKind.HEADING) if asks else passage
            found.append(replace(one, passage=asked))
    return found


def exercise_numbered(
    context: Sequence[ContextPassage], chapter: int, number: int
) -> Passage | None:
    """Return the exercise with the label "4.2" or "2"; None if there is none.

    If no exercise has a label, `number` is its position, from 1.
    """
    tasks = [one.passage for one in context if one.passage.kind is BlockKind.EXERCISE]
    labels = {task_label(one): one for one in reversed(tasks)}
    if any(labels):
        return labels.get((chapter, number)) or labels.get((number,))
    return tasks[number - 1] if 0 < number <= len(tasks) else None


def task_label(task: Passage) -> tuple[int, ...]:
    """Return the label of an exercise or solution, such as (4, 2) for "Exercise 4.2"; () if none.

    It is in the heading or at the beginning of the text, where it may begin with "Solution" or
    follow a number: "3. Exercise 4.2. Why...".
    """
    for text in (*task.heading_path[-1:], task.text):
        if found := _LABEL.search(with_figures(words(text)[:_LABEL_WORDS])):
            return tuple(map(int, found[1].split()))
    return ()


def asked_exercise(asked: frozenset[int], hits: Sequence[Hit], terms: Terms) -> str:
    """Return the paragraph id of the exercise that the question repeats; "" if it repeats none.

    Exercises are compared with and without the choices of a multiple-choice question.
    """
    best, found = SAME_TERMS, ""
    for one in (one for hit in hits for one in hit.chunk.passages):
        if one.kind is BlockKind.EXERCISE and len(asked) >= FEWEST_TERMS:
            forms = map(terms, (one.text, one.text.partition("\n\n")[0]))
            similarity = max(len(asked & form) / len(asked | form) for form in forms)
            if similarity > best:
                best, found = similarity, one.paragraph_id
    return found


def solutions_by_place(passages: Iterable[Passage]) -> dict[str, tuple[str, ...]]:
    """Map exercise ids to the ids of their solutions, from the passages of a document in order.

    Several exercises followed by the same number of solutions are paired in order. Otherwise
    solutions belong to the last exercise before them.
    """
    solved: dict[str, tuple[str, ...]] = {}
    runs = groupby((one for one in passages if one.kind in TASKS), key=lambda one: one.kind)
    ids = [(kind, [*dict.fromkeys(one.paragraph_id for one in run)]) for kind, run in runs]
    for (kind, tasks), (_, solutions) in pairwise(ids):
        if kind is BlockKind.EXERCISE and len(tasks) == len(solutions):
            solved.update(zip(tasks, ((one,) for one in solutions), strict=True))
        elif kind is BlockKind.EXERCISE:
            solved[tasks[-1]] = tuple(solutions)
    return solved


def explaining(hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits with text other than exercises and solutions; all hits if there are none."""
    return [
        hit for hit in hits if any(one.kind not in NEVER_QUOTED for one in hit.chunk.passages)
    ] or list(hits)
