"""Pages that `serve` shows: how they are rendered, and that every paragraph is found on them."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit
from zipfile import ZipFile

import httpx
import pytest
from lxml import html
from lxml.html import HtmlElement

from app.adapters.reading.rendered_pages import rendered_pages
from app.bootstrap.books import SAMPLE_BOOK_ID, read_source, sample_request
from app.domain.book_id import BookId
from app.domain.document import Block, BlockKind, Book
from app.services.ingest_plan import IngestRequest
from tests.attacking import table
from tests.command_line import Run, write_files
from tests.markdown_pages import identified
from tests.owl_server import assert_problem
from tests.serving import connected, ingested, offline_settings

SAMPLE = f"/pages/{SAMPLE_BOOK_ID}"
PIXEL = b"\x89PNG\r\n\x1a\n"

_TEXT = ".//text()[not(ancestor::*[contains(@class, 'footnote-ref')])] | .//img/@alt"


class Page:
    def __init__(self, page: str) -> None:
        self.elements = [*html.document_fromstring(page).iter("*")]
        self.ids = [one.attrib["id"] for one in self.elements if "id" in one.attrib]
        self.text: dict[str, str] = defaultdict(str)
        """By paragraph id: with the images' descriptions, without the marks of footnotes."""
        for one in self.elements:
            if paragraph := one.get("data-paragraph-id"):
                self.text[paragraph] += "".join(map(str, one.xpath(_TEXT)))

    def all(self, tag: str) -> list[HtmlElement]:
        return [one for one in self.elements if one.tag == tag]


def rendered(folder: Path, source: str) -> str:
    """Return the article of `a/page.md`, beside another page of the book."""
    write_files(folder, {"a/page.md": source, "a/other.md": "# Other\n\n## Part\n\nText.\n"})
    book = read_source(IngestRequest(folder, book=BookId("owls")))
    return rendered_pages(book)[0]["a/page.md"]


def test_an_image_beside_a_page_of_mkdocs_is_shown_from_its_file(tmp_path: Path) -> None:
    pages = {"mkdocs.yml": "site_name: A", "docs/a/b.md": "![C](c.svg)", "docs/a/c.svg": "<svg/>"}
    book = read_source(IngestRequest(write_files(tmp_path, pages), book=BookId("owls")))
    assert rendered_pages(book)[1] == {"docs/a/c.svg"}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("---\ntitle: Night\n---\n\nText\n\n# Day", ["<h1>Night</h1>", ">Text</p>", ">Day</h1>"]),
        ("# Head {#own-id}", ['<h1 id="own-id"', ">Head</h1>"]),
        (":::tip[Read this]\n\nBody\n\n:::", ['<aside class="admonition tip"', ">Read this</p>"]),
        ("::::info[A]\n:::note[B]\nInner\n:::\n::::", ["admonition info", "admonition note"]),
        (
            '<Tabs>\n<TabItem value="py" label="Python">\n\nText\n\n</TabItem>\n</Tabs>',
            ['<div class="tab"><p class="label">Python</p>'],
        ),
        (
            "<details>\n<summary>Solution</summary>\n\n- one\n\n</details>",
            ["<summary>Solution</summary>", "<li>one</li>", "</details>"],
        ),
        ("$a < b$", ['<span class="math">a &lt; b</span>']),
        ("$$\nx^2\n$$", ['class="math math-block">x^2</']),
        ("A[^n]\n\n[^n]: Note", ['<a href="#fn1"', 'class="footnote-item"']),
        ("| a | b |\n|---|--:|\n| 1 | 2 |", ['<th class="align-right">b</th>', "<td>1</td>"]),
        ("![alt](../img/x.svg)", ['<img src="/pages/owls/img/x.svg" alt="alt"']),
        ("![alt](/img/x%20y.PNG)", ['<img src="/pages/owls/img/x%20y.PNG"']),
        ("![alt](https://e.org/x.png)", ['<img src="https://e.org/x.png"']),
        ("[other](./other.md#part)", ['<a href="/pages/owls/a/other.html#part"']),
        ("[gone](gone.md)", ['<a href="gone.md"']),
        ('```python title="a.py"\na\n```', [">a.py:</p>", '<code class="language-python">']),
        ("Press <kbd>Enter</kbd>.", ["<kbd>Enter</kbd>"]),
    ],
)
def test_markdown_is_rendered(source: str, expected: list[str], tmp_path: Path) -> None:
    html = rendered(tmp_path, source)
    Page(html)
    for fragment in expected:
        assert fragment in html


@pytest.mark.attack
@pytest.mark.parametrize("attack", table("pages"), ids=lambda attack: attack["name"])
def test_what_a_page_says_never_runs(attack: dict[str, str], tmp_path: Path) -> None:
    page = Page(rendered(tmp_path, attack["text"]))
    for element in page.elements:
        assert element.tag not in ("script", "style", "iframe", "base", "form", "button", "svg")
        assert not [one for one in element.attrib if one.startswith("on") or one == "style"]
        for name in ("href", "src"):
            address = re.sub(r"\s", "", element.attrib.get(name, "")).lower()
            assert not address.startswith("javascript:")


# --- the sample book, as any plain folder -------------------------------------------------------


@dataclass(frozen=True)
class Sample:
    client: httpx.Client
    book: Book
    pages: Mapping[str, Page]
    """By path, the whole page as it is served."""


@pytest.fixture(scope="module")
def sample(sample_home: Path) -> Iterator[Sample]:
    book = identified(read_source(sample_request()))
    with connected(offline_settings(sample_home)) as client:
        urls = [document.url for document in book.documents]
        pages = {url: Page(client.get(url).raise_for_status().text) for url in urls}
        yield Sample(client, book, pages)


def _letters(text: str) -> str:
    """Return letters and digits, without the numbers of list items, which a browser draws."""
    text = re.sub(r"^\s*\d+\.\s", "", text, flags=re.MULTILINE)
    return "".join(char for char in text.casefold() if char.isalnum())


def _is_shown(block: Block, page: Page) -> bool:
    """Whether the text is in the element with the block's id.

    A box has its title before that element. The label of a tab is no part of an element.
    """
    shown, text = _letters(page.text[block.paragraph_id]), _letters(block.text)
    if block.kind in (BlockKind.ADMONITION, BlockKind.SOLUTION):
        return bool(shown) and shown in text
    return text in shown or block.text.startswith(("Python:", "JavaScript:"))


def test_every_block_of_the_book_is_on_its_page_with_its_text(sample: Sample) -> None:
    missing = [
        f"{block.file}: {block.kind} {block.paragraph_id} {block.text[:60]!r}"
        for document in sample.book.documents
        for block in document.blocks
        if not _is_shown(block, sample.pages[document.url])
    ]
    assert missing == []


def test_headings_have_the_anchors_of_the_site_and_ids_are_unique(sample: Sample) -> None:
    for document in sample.book.documents:
        ids = sample.pages[document.url].ids
        anchors = [b.anchor for b in document.blocks if b.kind is BlockKind.HEADING and b.anchor]
        assert [anchor for anchor in anchors if anchor not in ids] == []
        assert len(ids) == len(set(ids)), document.file


def test_every_link_and_image_of_the_site_leads_somewhere(sample: Sample) -> None:
    broken = []
    for path, page in sample.pages.items():
        for link in page.all("a"):
            target = urlsplit(link.attrib["href"])
            if target.netloc or target.path in ("/", "/v1/openapi.json"):
                continue
            goal = sample.pages.get(target.path or path)
            if goal is None or (target.fragment and unquote(target.fragment) not in goal.ids):
                broken.append((path, link.attrib["href"]))
        images = [image.attrib["src"] for image in page.all("img")]
        broken += [(path, one) for one in images if sample.client.get(one).status_code != 200]
    assert broken == []


def test_the_only_book_begins_at_the_root_and_lists_its_pages_in_order(sample: Sample) -> None:
    first, second = sample.book.documents[:2]
    assert sample.client.head("/").headers["location"] == SAMPLE
    for path in (SAMPLE, f"{SAMPLE}/"):
        assert sample.client.get(path).headers["location"] == first.url
    page = sample.pages[first.url]
    links = [link.attrib["href"] for link in page.all("a")]
    positions = [links.index(document.url) for document in sample.book.documents]
    assert positions == sorted(positions)
    current = [link for link in page.all("a") if "aria-current" in link.attrib]
    assert [link.attrib["href"] for link in current] == [first.url]
    after = next(link for link in page.all("a") if link.attrib.get("rel") == "next")
    assert after.attrib["href"] == second.url


def test_pages_run_no_inline_script_and_load_nothing_from_elsewhere(sample: Sample) -> None:
    for page in sample.pages.values():
        assert "/widget.js" in [one.attrib["src"] for one in page.all("script")]
        for element in page.elements:
            assert "style" not in element.attrib
            assert not any(name.startswith("on") for name in element.attrib)
            assert element.tag != "style"
            if element.tag in {"script", "img", "link"}:
                source = element.attrib.get("src") or element.attrib["href"]
                assert source.startswith(("/", "data:,"))
    headers = sample.client.get("/", follow_redirects=True).headers
    assert "script-src 'self';" in headers["content-security-policy"]
    assert "frame-ancestors 'none'" in headers["content-security-policy"]


def test_a_drawing_may_not_run_scripts(sample: Sample) -> None:
    drawing = sample.client.get(f"{SAMPLE}/img/zipf.svg")
    assert drawing.headers["content-type"] == "image/svg+xml"
    policy = drawing.headers["content-security-policy"]
    assert {"default-src 'none'", "sandbox"} <= set(policy.split("; "))
    assert "script-src" not in policy


def test_a_citation_leads_to_a_page_that_is_served(sample: Sample) -> None:
    asked = {"question": "What is an inverted index?"}
    (citation, *_) = sample.client.post("/v1/chat", json=asked).json()["citations"]
    page = sample.client.get(citation["url"]).raise_for_status().text
    assert f'id="{citation["paragraph_id"]}"' in page


# --- what is not served -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """Serve a book whose page names files that are not to be served, beside others."""
    folder = write_files(tmp_path_factory.mktemp("books"), {"secret.png": PIXEL})
    shown = ("ok.png", "../secret.png", "../../../../etc/passwd", "link.png", "large.gif", "a.txt")
    page = "# Owls\n\nOwls hunt.\n\n" + "\n\n".join(f"![x]({name}) here" for name in shown)
    images = {"ok.png": PIXEL, "unnamed.png": PIXEL, "large.gif": b"x" * 10_000_001}
    home = {"index.md": "---\npermalink: /\n---\n\nWelcome.\n"}
    owls = write_files(folder / "owls", {"page.md": page, "a.txt": "text", **images, **home})
    (owls / "link.png").symlink_to(folder / "secret.png")
    title = "`<script>alert(1)</script><img src=x>`"
    bats = write_files(folder / "bats", {"page.md": f"# {title}\n\nBats sleep.\n"})
    settings = ingested(folder / "rag", owls, bats / "page.md")
    ingested(settings.home, bats, base_url="https://bats.example")
    with connected(settings) as client:
        yield client


@pytest.mark.attack
@pytest.mark.parametrize("path", ["owls/page.html", "owls/ok.png", "owls/index.html"])
def test_pages_and_their_images_are_served(path: str, served: httpx.Client) -> None:
    assert served.get(f"/pages/{path}").status_code == 200


@pytest.mark.attack
@pytest.mark.parametrize(
    "path",
    [
        *(f"owls/{name}" for name in ("unnamed.png", "link.png", "large.gif", "a.txt", "page.md")),
        "owls/contents.json",
        "owls/%2e%2e/secret.png",
        "owls/..%2f..%2f..%2f..%2fetc%2fpasswd",
        "owls/..%5csecret.png",
        "owls/%00.png",
        *(f"{book}/page.html" for book in ("bats", "nobody", "..", "%2e%2e%2fruns", "A B")),
    ],
)
def test_nothing_else_is_served(path: str, served: httpx.Client) -> None:
    """No other file, and no page of a book that has a site of its own."""
    assert served.get(f"/pages/{path}").status_code == 404


def test_an_unknown_page_says_so(served: httpx.Client) -> None:
    response = served.get("/pages/owls/no-such-page.html")
    assert "No such page" in response.text
    assert 'href="/pages/owls/page.html"' in response.text


def test_the_list_of_books_links_to_their_pages_and_asks_them_all(served: httpx.Client) -> None:
    page = Page(served.get("/").text)
    links = [link.attrib["href"] for link in page.all("a")]
    assert {"/pages/owls", "https://bats.example"} <= {*links}
    assert "" not in links, "a book without an address has no link"
    (box,) = page.all("script")
    assert (box.attrib["src"], box.attrib["data-label"]) == ("/widget.js", "Ask these books")
    assert "data-book" not in box.attrib
    assert not page.all("img"), "titles are text"


@pytest.mark.parametrize(
    ("damaged", "said", "unsaid"),
    [
        (True, "<code>owls</code> is damaged", "holds no book yet"),
        (False, "textbook-rag ingest", "is damaged"),
    ],
)
def test_a_list_without_books_says_why_and_has_no_box(
    damaged: bool, said: str, unsaid: str, state: Path, tmp_path: Path
) -> None:
    for file in (state / "index/owls").rglob("*"):
        if file.is_file():
            file.write_bytes(b"damaged")
    with connected(offline_settings(state if damaged else tmp_path)) as client:
        html = client.get("/").raise_for_status().text
    assert said in html
    assert unsaid not in html
    assert not Page(html).all("script")


def test_pages_go_with_their_book_and_change_with_it(run: Run, home: Path) -> None:
    folder = write_files(home / "owls", {"page.md": "# Owls\n\nOwls hunt.\n"})
    stored = home / "state/pages/owls.zip"
    run("ingest", folder, "--dry-run")
    assert not stored.exists()
    run("ingest", folder)
    before = stored.read_bytes()
    write_files(folder, {"page.md": "# Owls\n\nOwls sleep.\n"})
    run("ingest", folder)
    assert stored.read_bytes() != before
    write_files(folder, {"page.md": "# Owls\n\n![x](x.png) here.\n", "x.png": PIXEL})
    run("ingest", folder)
    write_files(folder, {"x.png": PIXEL * 2})
    run("ingest", folder)
    assert ZipFile(stored).read("x.png") == PIXEL * 2
    run("ingest", folder, "--base-url", "https://owls.example")
    assert not stored.exists()
    run("ingest", folder)
    assert stored.exists()
    run("remove", "owls", "--yes")
    assert not stored.exists()


def test_a_book_in_arabic_runs_from_right_to_left(run: Run, home: Path) -> None:
    run("ingest", write_files(home / "owls", {"page.md": "# البوم\n\nيصطاد البوم في الليل.\n"}))
    with connected(offline_settings(home / "state")) as client:
        assert '<html lang="ar" dir="rtl">' in client.get("/pages/owls/page.html").text


def test_pages_stay_public_with_keys_but_have_no_widget_and_a_damaged_file_is_an_error(
    run: Run, home: Path
) -> None:
    run("ingest", write_files(home / "owls", {"page.md": "# Owls\n\nOwls hunt.\n"}))
    run("keys", "add", "--origin", "https://owls.example")
    with connected(offline_settings(home / "state")) as client:
        page = client.get("/pages/owls/page.html").raise_for_status()
        assert "Owls hunt." in page.text
        assert "/widget.js" not in page.text
        (home / "state/pages/owls.zip").write_bytes(b"no archive")
        assert_problem(client.get("/pages/owls/page.html"), 503, "storage_failed")
