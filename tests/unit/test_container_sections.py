"""A section that begins in a container ends with it."""

from __future__ import annotations

import pytest

from app.adapters.markdown import read_text
from app.domain.chunking.config import ChunkingConfig
from app.domain.chunking.strategies import stream_chunks
from app.domain.document import BlockKind, Site
from tests.chunking_documents import book_of, tools
from tests.chunking_oracle import breaches

NOTE = """# Owls

## Hunting

{opening}

#### In snow

They listen.

{closing}

They wait.

### At night

They fly.
"""


def _paths(text: str, site: Site) -> dict[str, tuple[str, ...]]:
    page = read_text(text, site=site, file="owls.mdx" if site is Site.DOCUSAURUS else "owls.md")
    return {block.text: block.heading_path for block in page.blocks}


@pytest.mark.parametrize(
    ("opening", "closing", "site"),
    [
        ("<DeepDive>", "</DeepDive>", Site.DOCUSAURUS),
        ("<Note>", "</Note>", Site.PLAIN),
        ("<details>", "</details>", Site.DOCUSAURUS),
        ("<Box>\n\n<Note>", "</Note>\n\n</Box>", Site.DOCUSAURUS),
        (":::note", ":::", Site.DOCUSAURUS),
        (":::{custom}", ":::", Site.MYST),
    ],
)
def test_text_after_a_container_is_in_the_section_around_it(
    opening: str, closing: str, site: Site
) -> None:
    paths = _paths(NOTE.format(opening=opening, closing=closing), site)
    assert paths["They listen."] == ("Owls", "Hunting", "In snow")
    assert paths["They wait."] == ("Owls", "Hunting")
    assert paths["They fly."] == ("Owls", "Hunting", "At night")


def test_a_higher_heading_in_a_container_does_not_end_the_section_around_it() -> None:
    text = "# Owls\n\n## Hunting\n\n:::{example}\n# Mice\n\nA mouse.\n:::\n\nThey wait.\n"
    paths = _paths(text, Site.MYST)
    assert paths["A mouse."] == ("Owls", "Mice")
    assert paths["They wait."] == ("Owls", "Hunting")


@pytest.mark.parametrize(
    "wrapped",
    [
        "<Banner>\n\n## Hunting\n\n</Banner>",
        '<div align="center">\n\n## Hunting\n\nA picture.\n\n</div>',
        "<Layout>\n\n## Hunting",
    ],
)
def test_a_wrapped_or_unclosed_heading_goes_on(wrapped: str) -> None:
    paths = _paths(f"# Owls\n\n{wrapped}\n\nThey wait.\n", Site.DOCUSAURUS)
    assert paths["They wait."] == ("Owls", "Hunting")


def test_exercises_end_with_their_container() -> None:
    exercises = "<Box>\n\n### Exercises\n\n1. Name an owl.\n\n</Box>"
    text = f"# Owls\n\n## Facts\n\n{exercises}\n\n1. They wait.\n"
    page = read_text(text, site=Site.DOCUSAURUS, file="owls.mdx")
    kinds = {block.text: block.kind for block in page.blocks}
    assert kinds["1. They wait."] is BlockKind.LIST
    assert BlockKind.EXERCISE in kinds.values()


@pytest.mark.parametrize("count", range(20, 44, 4))
def test_an_overlap_is_of_one_section_where_a_container_ends(count: int) -> None:
    snow, night = (
        "\n\n".join(f"The owl of {word} waits for mouse {number}." for number in range(count))
        for word in ("snow", "night")
    )
    text = f"# Owls\n\n## Hunting\n\n<Note>\n\n### In snow\n\n{snow}\n\n</Note>\n\n{night}\n"
    page = read_text(text, site=Site.DOCUSAURUS)
    chunks = list(stream_chunks(page, book_of(page), ChunkingConfig(), tools()))
    assert not breaches(page, chunks)


@pytest.mark.parametrize(
    ("heading", "before", "after", "is_exercise"),
    [
        ("Problem 1 - growing footprint", "", "", False),
        ("Question 2: why now?", "# Known issues", "", False),
        ("Problem 1 - growing footprint", "# Homework", "", True),
        ("Problem 1 - growing footprint", "", "### Solution to problem 1\n\nIt is.", True),
        ("Problem 1 (10 points)", "", "", True),
        ("Question 2.", "", "", True),
        ("Exercise 1 - growing footprint", "", "", True),
    ],
)
def test_a_problem_is_an_exercise_where_the_page_has_exercises(
    heading: str, before: str, after: str, is_exercise: bool
) -> None:
    page = read_text(f"{before}\n\n## {heading}\n\nIt grows.\n\n{after}\n")
    [text] = (block for block in page.blocks if block.text == "It grows.")
    assert (text.kind is BlockKind.EXERCISE) == is_exercise


CHALLENGE = """# Pipes

::::: challenge

## Counting

Count the lines.

```bash
wc notes
```

::: solution

## Solution

Use this:

```bash
wc -l notes
```

:::

:::::

They are counted.
"""


def test_the_heading_of_an_exercise_or_solution_leaves_its_content_one_block() -> None:
    blocks = read_text(CHALLENGE, site=Site.PLAIN).blocks
    assert [(block.kind.value, block.text.partition("\n")[0]) for block in blocks] == [
        ("heading", "Pipes"),
        ("heading", "Counting"),
        ("exercise", "Count the lines."),
        ("heading", "Solution"),
        ("solution", "Use this:"),
        ("paragraph", "They are counted."),
    ]
    assert "wc -l notes" in blocks[4].text
