"""`stamp SITE_DIR`: each paragraph's element gets its id, and nothing else changes."""

import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from app.adapters.reading.tree import marked, stamped
from tests.command_line import Run, write_files

PAGE = b"""<!doctype html><html><head><title>Owls <p> x</title>
<link rel="canonical" href="https://birds.example/guide/owls.html"></head><body>
<!-- <p>not a tag</p> --><script>"<p>"</script><MAIN class='a>b'><h1 id=owls>Owls</h1>
<P CLASS="lead" >Owls hunt at <em>night</em>.</P>
<p id="prey">They eat mice.</p><ul><li>one</li><li>two<p>more</p></li></ul>
<table><tr><th>a</th></tr><tr><td>b</td></tr></table><pre>hoot()</pre>
<div class="admonition"><p class="admonition-title">Tip</p><p>Be quiet.</p></div>
<dl><dt>Owl<dd>A bird.</dl>Text of no element.<p data-x='id=1'>Caf\xc3\xa9 closes.</p></MAIN>
</body></html>"""
_STAMP = re.compile(rb' id="p-[0-9a-z]{10}(?:-\d+)?"')


@pytest.fixture
def site(home: Path) -> Path:
    return write_files(home / "birds", {"owls.html": PAGE})


def test_each_paragraph_gets_its_id_and_no_other_byte_changes(run: Run, site: Path) -> None:
    before = run("blocks", site).lines()
    result = run("stamp", site)
    assert result.code == 0
    assert result.err == "7 ids written on 1 page\n"
    page = (site / "owls.html").read_bytes()
    assert _STAMP.sub(b"", page) == PAGE
    for block in before:
        tag = re.search(rf'<(\w+) id="{block["paragraph_id"]}"'.encode(), page)
        kind = "prey" if block["paragraph_id"] == "prey" else block["kind"]
        expected = {"paragraph": b"p", "list": b"ul", "table": b"table", "code": b"pre"}
        if kind in expected and block["text"] != "Text of no element.":
            assert tag is not None
            assert tag[1].lower() == expected[kind]


def test_a_stamped_site_is_stamped_and_read_as_before(run: Run, site: Path) -> None:
    before = run("blocks", site).out
    run("stamp", site)
    once = (site / "owls.html").read_bytes()
    assert run("stamp", site).err == "0 ids written on 1 page\n"
    assert (site / "owls.html").read_bytes() == once
    assert run("blocks", site).out == before


def test_links_to_a_stamped_site_lead_to_the_ids_and_quote(run: Run, site: Path) -> None:
    run("stamp", site)
    run("ingest", site)
    links = run("links", "birds").lines()
    found = [unquote(one["url"]).partition("#")[2] for one in links]
    assert re.fullmatch(r"p-\w{10}:~:text=Owls hunt at night", found[0])
    assert found[1] == "prey:~:text=They eat mice"
    assert run("links", "birds", "--check", site).code == 0


def test_the_ids_are_those_of_the_books_ledger(run: Run, site: Path) -> None:
    """An edited paragraph has the id of its old text."""
    (old,) = [one for one in run("blocks", site).lines() if "Owls hunt" in one["text"]]
    run("ingest", site)
    edited = PAGE.replace(b"night</em>.", b"night</em> and at dusk.")
    (site / "owls.html").write_bytes(edited)
    run("ingest", site)
    run("stamp", site)
    assert f'<P id="{old["paragraph_id"]}"'.encode() in (site / "owls.html").read_bytes()


def test_a_folder_of_markdown_is_refused(run: Run, home: Path) -> None:
    refused = run("stamp", write_files(home / "source", {"a.md": "# Owls"})).refusal()
    assert "no folder of built pages: build the site and give its folder" in refused


def test_a_mistyped_book_is_remarked(run: Run, site: Path) -> None:
    assert "no book 'bird'" in run("stamp", site, "--book", "bird").err


@pytest.mark.parametrize(
    "hostile",
    [b"<!--" * 50_000, b"<script>" * 50_000, b'<a "' * 50_000, b"<a " * 50_000, b"<a '\"" * 50_000],
)
def test_a_broken_page_is_scanned_in_linear_time(hostile: bytes) -> None:
    assert stamped(hostile, {0: "p-x"})[1] <= 1
    assert len(marked(hostile)) < 100 * len(hostile)
