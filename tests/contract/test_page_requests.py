"""What the API tells of a page: its terms, what a reader can ask there, its Markdown."""

from collections.abc import Iterator
from dataclasses import replace

import httpx
import pytest

from app.services.page_suggestions import page_suggestions
from tests.command_line import write_files
from tests.fake_world import FakeTerms, make_chunk, passage
from tests.owl_server import ORIGIN, assert_problem
from tests.serving import connected, ingested

CODE = "\n".join(f"owl_{n} = hears(mouse_{n}, 'below the snow', metres={n})" for n in range(99))
"""A listing in several chunks."""
PAGE = f"""\
# Owls

An owl is a bird that hunts at night.

## How do owls hunt?

The feathers end in a soft fringe that breaks up the air, so the flight makes no sound.

## Uses [1] of \\# parts

| part | use |
|---|---|
| fringe | silence |

```python
{CODE}
```

## Uses [1] of \\# parts

## Exercises

### Exercise 1.1

Why does a *fringe* make the flight silent?

### Exercise 1.2

Name two prey animals.
"""
OTHER = """\
# Bats

Bats hear. Their wings are wide.

## Glossary

### Wing

An arm to fly with.
"""


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    pages = {"owls.md": PAGE, "bats.md": OTHER}
    book = write_files(tmp_path_factory.mktemp("book") / "owls", pages)
    with connected(ingested(tmp_path_factory.mktemp("home"), book, base_url=ORIGIN)) as client:
        yield client


def test_a_page_suggests_its_sections_and_exercises(asked: httpx.Client) -> None:
    found = asked.get("/v1/suggestions", params={"page": "/owls", "book": "owls"}).json()
    texts = ["Why does a fringe make the flight silent?", "Name two prey animals."]
    questions = ['What does "owls" mean?', "How do owls hunt?", texts[0]]
    assert (found["book"], found["questions"]) == ("owls", questions)
    assert [exercise["text"] for exercise in found["exercises"]] == texts
    assert all(one["paragraph_id"].startswith("p-") for one in found["exercises"])
    other = asked.get("/v1/suggestions", params={"page": f"{ORIGIN}/bats"}).json()
    assert other["exercises"] == []


def test_a_page_is_sent_as_markdown_with_each_paragraph_once(asked: httpx.Client) -> None:
    response = asked.get("/v1/books/owls/pages/owls.md")
    assert response.headers["content-type"] == "text/markdown; charset=utf-8"
    headings = [line for line in response.text.splitlines() if line.startswith("#")]
    uses = ["## Uses [1] of # parts"] * 2
    assert headings[:4] == ["# Owls", "## How do owls hunt?", *uses]
    assert f"Source: {ORIGIN}/owls.html\n" in response.text
    assert response.text.count("An owl is a bird that hunts at night.") == 1
    assert f"```python\n{CODE}\n```" in response.text


def test_a_page_lists_its_terms_with_definition_and_place(asked: httpx.Client) -> None:
    page = f"{ORIGIN}/bats.html?x=1#bats"
    body = asked.get("/v1/glossary", params={"page": page}).json()
    (wing,) = body["terms"]
    assert (body["book"], wing["term"], wing["forms"]) == ("owls", "Wing", ["wings"])
    assert wing["definition"] == "An arm to fly with."
    assert wing["url"].startswith(f"{ORIGIN}/bats.html#wing")
    assert wing["paragraph_id"]


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("suggestions?page=/foxes", 404, "page_not_found"),
        ("glossary?page=/nothing", 404, "page_not_found"),
        ("glossary?page=/owls&book=hawks", 404, "book_not_found"),
        ("glossary?page=", 422, "invalid_request"),
        ("glossary", 422, "invalid_request"),
        ("books/owls/pages/no.md", 404, "page_not_found"),
        ("books/bats/pages/owls.md", 404, "book_not_found"),
    ],
)
def test_a_page_that_is_not_there_is_a_problem(
    asked: httpx.Client, path: str, status: int, code: str
) -> None:
    assert_problem(asked.get(f"/v1/{path}"), status, code)


def test_a_heading_that_the_site_cannot_link_to_is_not_suggested() -> None:
    page = replace(make_chunk("Text."), deep_link_url="/a.md")
    chunks = [
        replace(page, passages=(passage("Text.", anchor, heading_path=("Owls", *below)),))
        for anchor, *below in (
            ("owls",),
            ("owls", "How to find owls"),
            ("how-owls-are-fed", "How to feed owls"),
        )
    ]
    assert page_suggestions(chunks, FakeTerms().lexical) == ["How do I feed owls?"]
