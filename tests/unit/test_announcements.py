"""A quoted sentence that announces something brings it, or is not quoted."""

from __future__ import annotations

import pytest

from app.adapters.sentences import split_sentences
from app.domain.answering.announcements import announced_units
from app.domain.answering.units import units
from app.domain.chunking.chunk import Passage
from app.domain.document import BlockKind
from tests.answer_fakes import context_of, extracted, passage

FORMULA = passage("$$\nv = s / t\n$$", "p-formula", BlockKind.MATH)
TABLE = passage("Animal | Speed\nHare | 70", "p-table", BlockKind.TABLE)
LIST = passage("- long legs\n- light bones", "p-list", BlockKind.LIST)
CODE = passage("run(hare)", "p-code", BlockKind.CODE, language="py")
CODE_SHOWN = "```py\nrun(hare)\n```"
OTHER = passage("A hare outruns a dog.", "p-other")
QUESTION = "Why are hares of the meadows fast?"


def answer(*passages: Passage) -> str:
    return extracted(QUESTION, *passages).text


@pytest.mark.parametrize(
    ("sentence", "block", "shown"),
    [
        ("The speed of fast hares of the meadows is:", FORMULA, FORMULA.text),
        ("Hares of the meadows are fast:", TABLE, "Animal | Speed\n--- | ---\nHare | 70"),
        ("Hares of the meadows are fast for two reasons:", LIST, LIST.text),
        ("Fast hares of the meadows run as follows:", CODE, CODE_SHOWN),
    ],
)
def test_a_sentence_brings_the_block_that_it_announces(
    sentence: str, block: Passage, shown: str
) -> None:
    assert answer(passage(sentence, "p-1"), block) == f"{sentence}\n\n{shown}"


@pytest.mark.parametrize(
    "rest",
    [(), (passage("Task", "p-task", BlockKind.EXERCISE),)],
    ids=["nothing follows", "nothing that is quoted"],
)
@pytest.mark.parametrize("end", [" when they run like this:", ". The speed is:"])
def test_a_sentence_whose_announced_block_is_missing_is_not_quoted(
    end: str, rest: tuple[Passage, ...]
) -> None:
    hanging = passage(f"Hares of the meadows are fast{end}", "p-1")
    found = answer(OTHER, hanging, *rest)
    assert found
    assert end not in found


def test_endless_announcements_announce_nothing_that_is_quoted() -> None:
    context = context_of(passage("Hares run:\n\n" * 3_000, "p-1"))
    found = list(units(context, split_sentences, "en"))
    assert announced_units(found, context)[0] is None


@pytest.mark.parametrize(
    "text",
    ["Hares of the meadows are fast", "Hares of the meadows are fast for two reasons."],
)
def test_a_sentence_that_announces_nothing_stands_alone(text: str) -> None:
    assert answer(passage(text, "p-1"), FORMULA) == text
