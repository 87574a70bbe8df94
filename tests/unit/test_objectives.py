"""Learning objectives are not shown as answers."""

from __future__ import annotations

import pytest

from app.domain.document import BlockKind
from tests.fake_world import extracted, passage

LEAD_IN = passage("By the end of this section, you will be able to:", "p-1")
OBJECTIVES = passage("- Define osmosis\n- Explain its role", "p-2", BlockKind.LIST)
ANSWER = passage("Osmosis is the movement of water through a membrane.", "p-3")


def test_what_a_reader_will_learn_is_no_answer() -> None:
    found = extracted("Explain the role of osmosis", LEAD_IN, OBJECTIVES, ANSWER)
    assert [one.paragraph_ids for one in found.passages] == [("p-3",)]


def test_who_asks_for_the_objectives_gets_them() -> None:
    found = extracted("What will I learn about osmosis?", LEAD_IN, OBJECTIVES, ANSWER)
    assert any("p-2" in one.paragraph_ids for one in found.passages)


@pytest.mark.parametrize(
    ("text", "kind", "heading", "shown"),
    [
        ("- osmosis\n- membranes", BlockKind.LIST, "Learning Objectives", False),
        ("- osmosis\n- membranes", BlockKind.LIST, "Chapter learning objectives", False),
        ("- osmosis\n- membranes", BlockKind.LIST, "Kinds", True),
        ("What You'll Learn\n\n- What osmosis is", BlockKind.ADMONITION, "Kinds", False),
        ("Osmosis was hard. You will learn why.", BlockKind.PARAGRAPH, "Kinds", True),
    ],
)
def test_objectives_are_known_by_heading_title_or_lead_in(
    text: str, kind: BlockKind, heading: str, *, shown: bool
) -> None:
    found = extracted("osmosis", passage(text, "p-1", kind, heading_path=("Life", heading)))
    assert bool(found.passages) is shown
