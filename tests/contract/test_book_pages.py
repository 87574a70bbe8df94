"""Pages that `serve` shows: how they are rendered, and that every paragraph is found on them."""

from __future__ import annotations

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
from app.services.ingest import IngestRequest
from tests.command_line import Run, write_files
from tests.markdown_pages import identified
from tests.serving import ingest, offline_settings, serving

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


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("---\ntitle: Night\n---\n\nText", ["<h1>Night</h1>", ">Text</p>"]),
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
        ("![alt](../img/x.svg)", ['class="figure"><img src="/pages/owls/img/x.svg" alt="alt"']),
        ("![alt](/img/x%20y.PNG)", ['<img src="/pages/owls/img/x%20y.PNG"']),
        ("![alt](https://e.org/x.png)", ['<img src="https://e.org/x.png"']),
        ("*Figure 1: An owl.*", ['class="caption"><em>Figure 1']),
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
@pytest.mark.parametrize(
    "source",
    [
        "Owls. <script>alert(1)</script>",
        "<script>\nalert(1)\n</script>\n\nOwls.",
        'Owls. <img src="x.png" onerror="alert(1)">',
        '<p onclick="alert(1)" style="color:red">Owls.</p>',
        "[Owls](javascript:alert(1))",
        "Owls. <a href=' java\tscript:alert(1)'>here</a>",
        "![Owls](javascript:alert(1)) by night",
        'Owls. <iframe src="https://evil.example"></iframe><base href="https://evil.example">',
        "Owls. <svg><style><img title='</style><img src=x onerror=alert(1)>'></svg>",
        "Owls. <math><mtext><mglyph><style><!--</style><img title='--><img src=1 onerror=a()>'>",
        '<TabItem label="<img src=x onerror=alert(1)>">\n\nOwls.\n\n</TabItem>',
        '```py title="<img src=x onerror=alert(1)>"\nowls\n```',
        '# Owls {#x"onload=alert(1)}\n\nOwls.',
        'Owls. <a href="&#1;javascript:alert(1)">here</a> <!-- <img src=x onerror=a()> -->',
        "Owls <math id='\x01' alttext='x\x01'>\x01</math>",
        '<TabItem label="\x01">\n\nOwls.\n\n</TabItem>',
        'Bats. <form action="/x"><button formaction="javascript:alert(1)">Owls</button></form>',
    ],
)
def test_what_a_page_says_never_runs(source: str, tmp_path: Path) -> None:
    page = Page(rendered(tmp_path, source))
    for element in page.elements:
        assert element.tag not in ("script", "style", "iframe", "base", "form", "button", "svg")
        assert not [one for one in element.attrib if one.startswith("on") or one == "style"]
        for name in ("href", "src"):
            address = re.sub(r"\s", "", element.attrib.get(name, "")).lower()
            assert not address.startswith("javascript:")


# --- the sample book, as any plain folder -------------------------------------------------------


@dataclass(frozen=True)
class Sample:
    address: str
    book: Book
    pages: Mapping[str, Page]
    """By path, the whole page as it is served."""


@pytest.fixture(scope="module")
def sample(sample_home: Path) -> Iterator[Sample]:
    book = identified(read_source(sample_request()))
    settings = offline_settings(sample_home)
    with serving(settings) as address, httpx.Client(base_url=address) as client:
        urls = [document.url for document in book.documents]
        pages = {url: Page(client.get(url).raise_for_status().text) for url in urls}
        yield Sample(address, book, pages)


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
    with httpx.Client(base_url=sample.address) as client:
        for path, page in sample.pages.items():
            for link in page.all("a"):
                target = urlsplit(link.attrib["href"])
                if target.netloc or target.path in ("/", "/v1/openapi.json"):
                    continue
                goal = sample.pages.get(target.path or path)
                if goal is None or (target.fragment and unquote(target.fragment) not in goal.ids):
                    broken.append((path, link.attrib["href"]))
            broken += [
                (path, image.attrib["src"])
                for image in page.all("img")
                if client.get(image.attrib["src"]).status_code != 200
            ]
    assert broken == []


def test_the_only_book_begins_at_the_root_and_its_contents_follow_the_reading_order(
    sample: Sample,
) -> None:
    first, second = sample.book.documents[:2]
    with httpx.Client(base_url=sample.address) as client:
        assert client.head("/").headers["location"] == SAMPLE
        for path in (SAMPLE, f"{SAMPLE}/"):
            assert client.get(path).headers["location"] == first.url
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
    headers = httpx.get(sample.address, follow_redirects=True).headers
    assert "script-src 'self';" in headers["content-security-policy"]
    assert "frame-ancestors 'none'" in headers["content-security-policy"]


def test_a_drawing_may_not_run_scripts(sample: Sample) -> None:
    drawing = httpx.get(f"{sample.address}{SAMPLE}/img/zipf.svg")
    assert drawing.headers["content-type"] == "image/svg+xml"
    policy = drawing.headers["content-security-policy"]
    assert {"default-src 'none'", "sandbox"} <= set(policy.split("; "))
    assert "script-src" not in policy


def test_a_citation_leads_to_a_page_that_is_served(sample: Sample) -> None:
    body = {"question": "What is an inverted index?"}
    answer = httpx.post(f"{sample.address}/v1/chat", json=body).json()
    cited = httpx.get(sample.address + answer["citations"][0]["url"])
    assert f'id="{answer["citations"][0]["paragraph_id"]}"' in cited.raise_for_status().text


# --- what is not served -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve a book whose page names files that are not to be served, beside another book."""
    folder = tmp_path_factory.mktemp("owls")
    outside = folder.parent / "secret.png"
    outside.write_bytes(PIXEL)
    shown = ("ok.png", "../secret.png", "../../../../etc/passwd", "link.png", "large.gif", "a.txt")
    page = "# Owls\n\nOwls hunt.\n\n" + "\n\n".join(f"![x]({name}) here" for name in shown)
    images = {"ok.png": PIXEL, "unnamed.png": PIXEL, "large.gif": b"x" * 10_000_001}
    write_files(folder, {"page.md": page, "a.txt": "text", **images})
    (folder / "link.png").symlink_to(outside)
    settings = offline_settings(tmp_path_factory.mktemp("home"))
    ingest(settings, IngestRequest(folder, book=BookId("owls")))
    title = "`<script>alert(1)</script><img src=x>`"
    bats = write_files(tmp_path_factory.mktemp("bats"), {"page.md": f"# {title}\n\nBats sleep.\n"})
    ingest(settings, IngestRequest(bats, book=BookId("bats"), base_url="https://bats.example"))
    ingest(settings, IngestRequest(bats / "page.md", book=BookId("lost")))
    with serving(settings) as address:
        yield address


@pytest.mark.attack
@pytest.mark.parametrize("path", ["owls/page.html", "owls/ok.png"])
def test_pages_and_their_images_are_served(path: str, served: str) -> None:
    assert httpx.get(f"{served}/pages/{path}").status_code == 200


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
def test_nothing_else_is_served(path: str, served: str) -> None:
    """No other file, and no page of a book that has a site of its own."""
    assert httpx.get(f"{served}/pages/{path}").status_code == 404


def test_an_unknown_page_says_so(served: str) -> None:
    response = httpx.get(f"{served}/pages/owls/no-such-page.html")
    assert "No such page" in response.text
    assert 'href="/pages/owls/page.html"' in response.text


def test_the_list_of_books_links_to_their_pages_and_its_box_asks_them_all(served: str) -> None:
    page = Page(httpx.get(served).text)
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
    with serving(offline_settings(state if damaged else tmp_path)) as address:
        html = httpx.get(address).raise_for_status().text
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


def test_pages_stay_public_with_keys_but_have_no_widget(run: Run, home: Path) -> None:
    run("ingest", write_files(home / "owls", {"page.md": "# Owls\n\nOwls hunt.\n"}))
    run("keys", "add", "--origin", "https://owls.example")
    with serving(offline_settings(home / "state")) as address:
        page = httpx.get(f"{address}/pages/owls/page.html").raise_for_status()
    assert "Owls hunt." in page.text
    assert "/widget.js" not in page.text


def test_a_damaged_file_of_pages_is_an_error(run: Run, home: Path) -> None:
    run("ingest", write_files(home / "owls", {"page.md": "# Owls\n\nOwls hunt.\n"}))
    (home / "state/pages/owls.zip").write_bytes(b"no archive")
    with serving(offline_settings(home / "state")) as address:
        response = httpx.get(f"{address}/pages/owls/page.html")
    assert (response.status_code, response.json()["code"]) == (503, "storage_failed")
