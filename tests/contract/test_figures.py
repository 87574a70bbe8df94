"""Answers show the book's own figures: which ones, and at which addresses."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.api.protocols.linked_text import without_links
from app.domain.generated_text.model_text import GeneratedCitation
from tests.command_line import write_files
from tests.owl_server import events_of
from tests.serving import ScriptedGenerator, connected, ingested, offline_settings

PAGES = {
    "water.md": """# Water

Clouds form when vapour condenses on small particles of dust in cold air.

![Arrows from sea to cloud to mountain](img/cycle.svg)

*Figure 4.2: The water cycle [in short].*

Rain and snow return the condensed water from clouds to the ground and rivers.

## Glaciers

A glacier moves slowly downhill under the weight of its own ice.

Crevasses open where the bed of a glacier bends, as the drawing below shows.

![A glacier with crevasses](img/glacier.png)

Meltwater carries gravel far away from the glacier's snout.

## Tides

The moon pulls the ocean, so that tides rise twice a day; compare Figure 4.2.
""",
    "light.md": """# Light

Prisms split white light into colours because glass bends blue light more than red light.

![A prism with a fan of colours](https://cdn.example/prism.png)

Lasers emit light of a single colour in a narrow beam.
""",
    "img/cycle.svg": "<svg xmlns='http://www.w3.org/2000/svg'/>",
}
BASE = "/pages/nature/img"
CYCLE, GLACIER, PRISM = f"{BASE}/cycle.svg", f"{BASE}/glacier.png", "https://cdn.example/prism.png"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("figures")
    return ingested(folder / "rag", write_files(folder / "nature", PAGES)).home


@pytest.fixture(scope="module")
def nature(home: Path) -> Iterator[httpx.Client]:
    with connected(offline_settings(home)) as client:
        yield client


def answer(client: httpx.Client, question: str) -> dict[str, Any]:
    body = {"question": question, "book": "nature"}
    found: dict[str, Any] = client.post("/v1/chat", json=body).raise_for_status().json()
    return found


@pytest.mark.parametrize(
    ("question", "url"),
    [
        ("Show me the diagram of the water cycle", CYCLE),  # by its caption
        ("What does the water cycle look like?", CYCLE),
        ("Is there a picture of a glacier?", GLACIER),  # by its alternative text
        ("Where do crevasses open?", GLACIER),  # "the drawing below"
        ("Why do tides rise twice a day?", CYCLE),  # by its number
        ("What does Figure 4.2 show?", CYCLE),
        ("How do clouds form, and how do rain and snow return to the ground?", CYCLE),  # between
        ("What does meltwater carry far away?", None),
        ("How do prisms split light?", None),  # elsewhere, and not allowed
        ("Show me the picture of a prism", None),
    ],
)
def test_an_answer_shows_the_figure_of_its_paragraphs_or_the_one_asked_for(
    question: str, url: str | None, nature: httpx.Client
) -> None:
    found = answer(nature, question)
    assert found["confidence"] != "not_in_book"
    assert [one["url"] for one in found["figures"]][:1] == [url] * (url is not None)
    own = [one for passage in found["passages"] for one in passage["figures"]]
    assert own == found["figures"]


def test_a_figure_has_its_texts_and_its_place(nature: httpx.Client) -> None:
    found = answer(nature, "Show me the diagram of the water cycle")
    first, (figure,) = found["passages"][0], found["figures"]
    assert figure["alt"] == "Arrows from sea to cloud to mountain"
    assert figure["caption"] == "Figure 4.2: The water cycle [in short]."
    assert first["text"].startswith(figure["caption"])
    assert figure["page_url"].startswith("/pages/nature/water.html#")
    assert len(found["passages"]) <= 3
    image = nature.get(figure["url"])
    assert image.headers["content-type"] == "image/svg+xml"
    assert image.headers["x-content-type-options"] == "nosniff"


def test_an_owner_allows_another_origin(home: Path) -> None:
    settings = offline_settings(home, image_origins="https://cdn.example")
    with connected(settings) as client:
        found = answer(client, "Show me the picture of a prism")
        page = client.get("/pages/nature/light.html")
    assert [one["url"] for one in found["figures"]] == [PRISM]
    assert "img-src 'self' data: https://cdn.example;" in page.headers["content-security-policy"]


def test_figures_of_a_built_site_are_on_its_own_origin(tmp_path: Path) -> None:
    image = '<p>A prism bends light.</p><figure><img src="{}"><figcaption>{}</figcaption></figure>'
    pages = {
        "a.html": f"<main><h1>Prisms</h1>{image.format('i/a.png', 'A prism')}</main>",
        "b.html": f"<main><h1>Tides</h1>{image.format('//cdn.example/b.png', 'A tide')}</main>",
    }
    base = "https://nature.example/book"
    folder = write_files(tmp_path / "nature", pages)
    with connected(ingested(tmp_path / "home", folder, base_url=base)) as client:
        shown = [answer(client, f"Show me the picture of a {one}") for one in ("prism", "tide")]
        policy = client.get("/").headers["content-security-policy"]
    urls = [[one["url"] for one in found["figures"]] for found in shown]
    assert urls == [[f"{base}/i/a.png"], []]
    assert "img-src 'self' data: https://nature.example;" in policy


def test_figures_are_links_for_clients_that_show_text(nature: httpx.Client) -> None:
    question = "Show me the diagram of the water cycle"
    body = {"model": "nature", "messages": [{"role": "user", "content": question}]}
    whole = nature.post("/v1/chat/completions", json=body).json()
    text = whole["choices"][0]["message"]["content"]
    assert text.endswith(rf"[Figure 4.2: The water cycle \[in short\].]({CYCLE})")
    assert without_links(text).split() == answer(nature, question)["answer"].split()
    streamed = nature.post("/v1/chat/completions", json={**body, "stream": True}).text
    assert f"]({CYCLE})" in streamed


def test_a_written_answer_has_the_figures_of_its_citations_and_no_others(home: Path) -> None:
    said = "Crevasses open where the bed of a glacier bends. ![x](https://evil.example/x.png)"
    generator = ScriptedGenerator()
    question = "Where do crevasses open?"
    with connected(offline_settings(home), generator.open) as client:
        found = answer(client, question)
        cited = next(iter(found["passages"][0]["paragraph_ids"]))
        generator.play(said, GeneratedCitation(0, said[:48], (cited,)))
        written = answer(client, question)
        body = {"question": question, "book": "nature", "stream": True}
        events = events_of(client.post("/v1/chat", json=body))
    assert written["mode"] == "generated"
    assert [one["url"] for one in written["figures"]] == [GLACIER]
    assert "evil.example" not in json.dumps(written)
    assert events[-1][1]["figures"] == written["figures"]
