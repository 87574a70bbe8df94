"""Answers show the book's own figures: which ones, and at which addresses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from app.api.protocols.linked_text import without_links
from app.domain.book_id import BookId
from app.domain.generated_text.model_text import GeneratedCitation
from app.services.ingest import IngestRequest
from tests.command_line import write_files
from tests.serving import ScriptedGenerator, ingest, offline_settings, serving

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
    folder, home = tmp_path_factory.mktemp("nature"), tmp_path_factory.mktemp("home")
    (folder / "img").mkdir()
    for name, text in PAGES.items():
        (folder / name).write_text(text, encoding="utf-8")
    ingest(offline_settings(home), IngestRequest(folder, book=BookId("nature")))
    return home


@pytest.fixture(scope="module")
def address(home: Path) -> Iterator[str]:
    with serving(offline_settings(home)) as address:
        yield address


def answer(address: str, question: str) -> dict[str, Any]:
    body = {"question": question, "book": "nature"}
    found: dict[str, Any] = httpx.post(f"{address}/v1/chat", json=body).raise_for_status().json()
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
    question: str, url: str | None, address: str
) -> None:
    found = answer(address, question)
    assert found["confidence"] != "not_in_book"
    assert [one["url"] for one in found["figures"]][:1] == [url] * (url is not None)
    own = [one for passage in found["passages"] for one in passage["figures"]]
    assert own == found["figures"]


def test_a_figure_has_its_texts_and_its_place(address: str) -> None:
    found = answer(address, "Show me the diagram of the water cycle")
    first, (figure,) = found["passages"][0], found["figures"]
    assert figure["alt"] == "Arrows from sea to cloud to mountain"
    assert figure["caption"] == "Figure 4.2: The water cycle [in short]."
    assert first["text"].startswith(figure["caption"])
    assert figure["page_url"].startswith("/pages/nature/water.html#")
    assert len(found["passages"]) <= 3
    image = httpx.get(address + figure["url"])
    assert image.headers["content-type"] == "image/svg+xml"
    assert image.headers["x-content-type-options"] == "nosniff"


def test_an_owner_allows_another_origin(home: Path) -> None:
    settings = offline_settings(home, image_origins="https://cdn.example")
    with serving(settings) as address:
        found = answer(address, "Show me the picture of a prism")
        page = httpx.get(f"{address}/pages/nature/light.html")
    assert [one["url"] for one in found["figures"]] == [PRISM]
    assert "img-src 'self' data: https://cdn.example;" in page.headers["content-security-policy"]


def test_figures_of_a_built_site_are_on_its_own_origin(tmp_path: Path) -> None:
    image = '<p>A prism bends light.</p><figure><img src="{}"><figcaption>{}</figcaption></figure>'
    pages = {
        "a.html": f"<main><h1>Prisms</h1>{image.format('i/a.png', 'A prism')}</main>",
        "b.html": f"<main><h1>Tides</h1>{image.format('//cdn.example/b.png', 'A tide')}</main>",
    }
    settings = offline_settings(tmp_path / "home")
    base = "https://nature.example/book"
    folder = write_files(tmp_path / "site", pages)
    ingest(settings, IngestRequest(folder, book=BookId("nature"), base_url=base))
    with serving(settings) as address:
        shown = [answer(address, f"Show me the picture of a {one}") for one in ("prism", "tide")]
        policy = httpx.get(address).headers["content-security-policy"]
    urls = [[one["url"] for one in found["figures"]] for found in shown]
    assert urls == [[f"{base}/i/a.png"], []]
    assert "img-src 'self' data: https://nature.example;" in policy


def test_figures_are_links_for_clients_that_show_text(address: str) -> None:
    books = openai.OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0)
    question = "Show me the diagram of the water cycle"
    whole = books.chat.completions.create(
        model="nature", messages=[{"role": "user", "content": question}]
    )
    text = whole.choices[0].message.content or ""
    assert text.endswith(rf"[Figure 4.2: The water cycle \[in short\].]({CYCLE})")
    assert without_links(text).split() == answer(address, question)["answer"].split()
    stream = books.chat.completions.create(
        model="nature", messages=[{"role": "user", "content": question}], stream=True
    )
    assert "".join(one.choices[0].delta.content or "" for one in stream) == text


def test_a_written_answer_has_the_figures_of_its_citations_and_none_of_the_model(
    home: Path,
) -> None:
    said = "Crevasses open where the bed of a glacier bends. ![x](https://evil.example/x.png)"
    generator = ScriptedGenerator()
    with serving(offline_settings(home), open_application=generator.open) as address:
        found = answer(address, "Where do crevasses open?")
        cited = next(iter(found["passages"][0]["paragraph_ids"]))
        generator.play(said, GeneratedCitation(0, said[:48], (cited,)))
        written = answer(address, "Where do crevasses open?")
        body = {"question": "Where do crevasses open?", "book": "nature", "stream": True}
        events = httpx.post(f"{address}/v1/chat", json=body).text
    assert written["mode"] == "generated"
    assert [one["url"] for one in written["figures"]] == [GLACIER]
    assert "evil.example" not in json.dumps(written)
    last = json.loads(events.split("data: ")[-1])
    assert [one["url"] for one in last["figures"]] == [GLACIER]
