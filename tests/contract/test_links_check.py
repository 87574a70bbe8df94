"""`links BOOK --check SITE`: every page, anchor and quote is looked up on the built site."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from app.adapters.reading.pages import read_page
from tests.command_line import Run, write_files
from tests.local_http import static_site

BOOK = "# Owls\n\nOwls hunt small animals at night.\n\n## Ears\n\nTheir ears sit at two heights.\n"
PAGE = """<html><head><title>Their ears sit at two heights.</title></head><body>
<h1 id="owls">Owls</h1><p>Owls hunt <em>small</em> animals at night.</p>
<h2 id="ears">Ears</h2><p>Their ears sit at two heights.</p>
<script>"Their ears sit at two heights."</script></body></html>"""
BASE = "https://birds.example/guide"


@pytest.fixture
def book(run: Run, home: Path) -> str:
    config = f"site_name: Birds\nsite_url: {BASE}/\n"
    write_files(home / "birds", {"mkdocs.yml": config, "docs/owls.md": BOOK})
    assert run("ingest", home / "birds").code == 0
    return "birds"


def built(folder: Path, html: str, page: str = "owls/index.html") -> Path:
    return write_files(folder / "site", {page: html})


@pytest.mark.parametrize("page", ["owls/index.html", "owls.html"])
def test_a_site_whose_links_land_has_no_miss(run: Run, book: str, home: Path, page: str) -> None:
    write_files(home / "site", {"owls.html": "<p>Moved to the folder."})
    result = run("links", book, "--check", built(home, PAGE, page))
    assert (result.code, result.out) == (0, "")
    assert result.err == "3 links on 1 page, 0 misses\n"


@pytest.mark.parametrize(
    ("was", "now", "fault"),
    [
        ('id="ears"', 'id="hearing"', "no element has the id 'ears'"),
        ("two heights.</p>", "one height.</p>", "no quote 'Their ears sit at'"),
        ("<p>Their", "<p>Their<br>", "no quote 'Their ears sit at'"),
        (
            "</body>",
            "<p>Their ears sit at last.</p></body>",
            "the quote is not unique: 'Their ears sit at'",
        ),
    ],
)
def test_each_miss_is_a_line_and_the_exit_code_is_one(
    run: Run, book: str, home: Path, was: str, now: str, fault: str
) -> None:
    changed = PAGE.replace(was, now)
    if "height" in was:
        changed = changed.replace("<p>Their ears sit at", "<p>Their ears")
    result = run("links", book, "--check", built(home, changed))
    assert result.code == 1
    missed = result.lines()
    assert fault in {one["fault"] for one in missed}
    assert {one["file"] for one in missed} == {"docs/owls.md"}
    assert all(one["paragraph_id"].startswith("p-") for one in missed)


def test_a_missing_page_is_one_line(run: Run, book: str, home: Path) -> None:
    result = run("links", book, "--check", built(home, PAGE, "index.html"))
    assert result.code == 1
    fault = {"file": "docs/owls.md", "fault": "no such page, 3 links", "paragraph_id": ""}
    assert result.json() == {"url": f"{BASE}/owls/", **fault}


def test_a_book_is_checked_against_a_served_site(
    run: Run, book: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with static_site(built(home, PAGE)) as address:
        assert run("links", book, "--check", address).code == 0
    monkeypatch.setattr("app.adapters.reading.polite_requests._ATTEMPTS", 1)
    assert urlsplit(address).netloc in run("links", book, "--check", address).refusal(1)


def test_a_site_that_is_not_there_is_refused(run: Run, book: str) -> None:
    assert "nowhere: no such folder" in run("links", book, "--check", "nowhere").refusal()


@pytest.mark.parametrize(
    "page",
    [
        b'<pre>fn lamp() {<span class="boring">use std::io;\n</span>wick();}</pre>',  # mdBook
        b'<div class="termy"><code>fn lamp() {&lt;b&gt;wick();&lt;/b&gt;}</code></div>',  # Termynal
    ],
)
def test_listings_have_the_text_that_a_reader_sees(page: bytes) -> None:
    assert read_page(page).text.count("fn lamp() {wick();}") == 1


BUILT = f"""<html><head><link rel="canonical" href="{BASE}/owls/"></head><body>
<nav><a href="../owls/">Owls hunt at night in woods</a></nav>
<main><h1 id="owls">Owls</h1>
<p>Owls hunt at night in woods and in fields.</p>
<p>Default:</p><pre>''</pre><p>An empty text.</p>
<p>Default:</p><p>A list of owls.</p>
<pre><span class="lineno">1 </span>from owls import barn
<span class="lineno">2 </span>print(barn)</pre>
<p>They eat mice.<button>Copy</button></p><p>They eat mice.</p></main>
<footer>Owls hunt at night in woods and that is all.</footer></body></html>"""


def test_links_of_a_built_site_land_on_it(run: Run, home: Path) -> None:
    """They quote what the whole page has once, with its navigation, and cross nothing."""
    site = built(home, BUILT)
    run("ingest", site, "--book", "site")
    found = [unquote(line["url"]) for line in run("links", "site").lines()]
    assert run("links", "site", "--check", site).code == 0
    assert [link.partition(":~:text=")[2] for link in found] == [
        "in woods and in",
        "",
        "",
        "An empty text",
        "Default:,-A",
        "A list of owls",
        "owls import barn",
        "",
        "",
    ]
