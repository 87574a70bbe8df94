"""The demo site: how pages are rendered, and that every paragraph is found on them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

import httpx
import pytest
from app.adapters.markdown.sample_pages import render_pages

from app.api.demo import build_site
from app.bootstrap.application import application
from app.bootstrap.books import SAMPLE_BOOK, SAMPLE_BOOK_ID, sample_pages
from app.domain.book_id import BookId
from app.domain.document import Block, BlockKind, Book, Document, Site
from app.services.ingest import IngestRequest
from tests.html_page import Page
from tests.serving import ingest, offline_settings, sample_routes, serving

BASE = "http://127.0.0.1:8000"


def make_book(
    pages: Mapping[str, str], blocks: Mapping[str, tuple[Block, ...]] | None = None
) -> Book:
    """Return a book of these files, each at `/docs/<name>`."""
    documents = tuple(
        Document(
            file=file,
            title=f"Title of {Path(file).stem}",
            chapter="",
            url=f"{BASE}/docs/{Path(file).stem}",
            source=source,
            blocks=(blocks or {}).get(file, ()),
            position=position,
        )
        for position, (file, source) in enumerate(pages.items())
    )
    return Book(BookId("book"), "The Book", Site.DOCUSAURUS, BASE, "en", "v", documents)


def render(source: str, *blocks: Block) -> str:
    book = make_book({"docs/page.md": source, "docs/other.md": "Other"}, {"docs/page.md": blocks})
    return render_pages(book, SAMPLE_BOOK)["docs/page.md"]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("---\ntitle: x\n---\n\nText", ["<h1>Title of page</h1>", "<p>Text</p>"]),
        ("import Tabs from '@theme/Tabs';\n\nText", ["<p>Text</p>"]),
        ("{/* hidden\nstill */}\n\nText", ["<p>Text</p>"]),
        ("# Head {#own-id}", ["<h1>Head</h1>"]),
        (
            ":::tip[Read this]\n\nBody\n\n:::\n\nAfter",
            ['<aside class="admonition tip">', "Read this</p>\n<p>Body</p>\n</aside>\n<p>After"],
        ),
        (
            "::::info[A]\n:::note[B]\nInner\n:::\n::::\nAfter",
            ["admonition info", "admonition note", "</aside>\n</aside>\n<p>After"],
        ),
        (
            '<Tabs>\n<TabItem value="py" label="Python">\n\nText\n\n</TabItem>\n</Tabs>',
            ['<div class="tabs">', '<section class="tab">\n<p class="label">Python</p>\n<p>Text'],
        ),
        (
            "<details>\n<summary>So *lution*</summary>\n\n- one\n\n</details>",
            ["<details>\n<summary>So <em>lution</em></summary>", "<li>one</li>", "</details>"],
        ),
        ("$a < b$", ['<span class="math">a &lt; b</span>']),
        ("$$\nx^2\n$$", ['<div class="math-block"><span class="math">x^2</span></div>']),
        ("A[^n]\n\n[^n]: Note", ['<a href="#fn1"', '<li id="fn1" class="footnote-item"><p>Note']),
        ("| a | b |\n|---|--:|\n| 1 | 2 |", ['<th class="align-right">b</th>', "<td>1</td>"]),
        ("![alt](/img/x.svg)", ['<p class="figure"><img src="/img/x.svg" alt="alt"']),
        ("*Figure 1: An owl.*", ['<p class="caption"><em>Figure 1']),
        ("[other](./other.md#part)", ['<a href="/docs/other#part">']),
        ("[gone](gone.md)", ['<a href="gone.md">']),
        (
            '```python title="a.py" {1,3-4}\na\n# highlight-next-line\nb\nc\nd\n```',
            [
                "<figcaption>a.py</figcaption>",
                'class="language-python"',
                '<span class="marked-line">a</span>\n<span class="marked-line">b</span>\n',
                '<span class="marked-line">c</span>\n<span class="marked-line">d</span>\n</code>',
            ],
        ),
        ("Press <kbd>Enter</kbd>.", ["<kbd>Enter</kbd>"]),
    ],
)
def test_the_markdown_of_the_sample_book_is_rendered(source: str, expected: list[str]) -> None:
    html = render(source)
    Page(html)
    for fragment in expected:
        assert fragment in html
    assert "hidden" not in html
    assert "highlight-" not in html


def _block(source: str, text: str, kind: BlockKind, paragraph_id: str, anchor: str = "") -> Block:
    start = source.index(text)
    return Block(kind, text, "docs/page.md", start, start + len(text), (), anchor, "", paragraph_id)


def test_the_outermost_element_of_a_block_carries_its_id() -> None:
    source = "# Owls\n\nFirst.\n\n- a\n  - b\n\n- c\n\n:::tip[Inner]\n\nInner.\n\n:::\n"
    page = Page(
        render(
            source,
            _block(source, "# Owls", BlockKind.HEADING, "p-h", "owls"),
            _block(source, "First.", BlockKind.PARAGRAPH, "p-1"),
            _block(source, "- a\n  - b\n\n- c", BlockKind.LIST, "p-2"),
            _block(source, ":::tip[Inner]\n\nInner.\n\n:::", BlockKind.ADMONITION, "p-3"),
        )
    )
    tagged = [
        (element.tag, element.attributes["data-paragraph-id"], element.attributes["id"])
        for element in page.elements
        if "data-paragraph-id" in element.attributes
    ]
    assert tagged == [
        ("h1", "p-h", "owls"),
        ("p", "p-1", "p-1"),
        ("ul", "p-2", "p-2"),
        ("aside", "p-3", "p-3"),
    ]


def test_a_block_of_several_elements_marks_each_and_gives_its_id_once() -> None:
    source = "One.\n\nTwo.\n\nThree.\n"
    html = render(
        source,
        _block(source, "One.\n\nTwo.", BlockKind.EXERCISE, "p-1"),
        _block(source, "Three.", BlockKind.PARAGRAPH, "p-2"),
    )
    assert html.count('data-paragraph-id="p-1"') == 2
    assert Page(html).ids == ["p-1", "p-2"]


# --- the sample book ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Sample:
    address: str
    book: Book
    pages: Mapping[str, Page]
    """By path, the whole page as it is served."""


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sample]:
    """Serve the sample book with nothing indexed: pages need no index."""
    settings = offline_settings(tmp_path_factory.mktemp("home"))
    read: list[Book] = []

    async def remember_book() -> None:
        async with application(settings) as rag:
            book, _ = await sample_pages(rag.settings, rag.index)
            read.append(book)

    asyncio.run(remember_book())
    paths = [urlsplit(document.url).path for document in read[0].documents]
    with (
        serving(settings, site=sample_routes(settings)) as address,
        httpx.Client(base_url=address) as client,
    ):
        pages = {path: Page(client.get(path).raise_for_status().text) for path in paths}
        yield Sample(address, read[0], pages)


def _page_of(sample: Sample, document: Document) -> Page:
    return sample.pages[urlsplit(document.url).path]


def _letters(text: str) -> str:
    """Return letters and digits, without the numbers of list items, which a browser draws."""
    text = re.sub(r"^\s*\d+\.\s", "", text, flags=re.MULTILINE)
    return "".join(char for char in text.casefold() if char.isalnum())


def test_every_block_of_the_book_is_on_its_page_with_its_text(sample: Sample) -> None:
    missing = [
        f"{block.file}: {block.kind} {block.paragraph_id} {block.text[:60]!r}"
        for document in sample.book.documents
        for block in document.blocks
        if _letters(block.text) not in _letters(_page_of(sample, document).text[block.paragraph_id])
    ]
    assert missing == []


def test_headings_have_the_anchors_of_the_site_and_ids_are_unique(sample: Sample) -> None:
    for document in sample.book.documents:
        ids = _page_of(sample, document).ids
        anchors = [b.anchor for b in document.blocks if b.kind is BlockKind.HEADING and b.anchor]
        assert [anchor for anchor in anchors if anchor not in ids] == []
        assert len(ids) == len(set(ids)), document.file


def test_every_link_and_image_of_the_site_leads_somewhere(sample: Sample) -> None:
    broken = []
    with httpx.Client(base_url=sample.address) as client:
        for path, page in sample.pages.items():
            for link in page.all("a"):
                target = urlsplit(link.attributes["href"])
                if target.netloc or target.path.startswith("/v1/"):
                    continue
                goal = sample.pages.get(target.path or path)
                if target.path == "/":
                    continue
                if goal is None or (target.fragment and unquote(target.fragment) not in goal.ids):
                    broken.append((path, link.attributes["href"]))
            broken += [
                (path, image.attributes["src"])
                for image in page.all("img")
                if client.get(image.attributes["src"]).status_code != 200
            ]
    assert broken == []


def test_the_site_begins_with_the_first_page_and_its_contents_follow_the_reading_order(
    sample: Sample,
) -> None:
    first, second = sample.book.documents[:2]
    assert httpx.head(sample.address).status_code == 307
    start = httpx.get(sample.address)
    assert start.status_code == 307
    assert start.headers["location"] == urlsplit(first.url).path
    page = _page_of(sample, first)
    order = [urlsplit(document.url).path for document in sample.book.documents]
    links = [link.attributes["href"] for link in page.all("a")]
    positions = [links.index(path) for path in order]
    assert positions == sorted(positions)
    current = [link for link in page.all("a") if "aria-current" in link.attributes]
    assert [link.attributes["href"] for link in current] == [order[0]]
    after = next(link for link in page.all("a") if link.attributes.get("rel") == "next")
    assert after.attributes["href"] == urlsplit(second.url).path


def test_pages_run_no_inline_script_and_load_nothing_from_elsewhere(sample: Sample) -> None:
    for page in sample.pages.values():
        for element in page.elements:
            assert "style" not in element.attributes
            assert not any(name.startswith("on") for name in element.attributes)
            assert element.tag != "style"
            if element.tag in {"script", "img", "link"}:
                source = element.attributes.get("src") or element.attributes["href"]
                assert source.startswith(("/", "data:,"))
    headers = httpx.get(sample.address, follow_redirects=True).headers
    assert "script-src 'self';" in headers["content-security-policy"]
    assert "frame-ancestors 'none'" in headers["content-security-policy"]


@pytest.mark.parametrize("path", ["/docs/no-such-page", "/docs/../../pyproject.toml", "/docs/%00"])
def test_an_unknown_page_is_a_page_that_says_so(sample: Sample, path: str) -> None:
    response = httpx.get(sample.address + path)
    assert response.status_code == 404
    if path.startswith("/docs/no"):
        assert "No such page" in response.text


@pytest.mark.parametrize("file", ["/widget.js", "/widget/site.css", "/widget/site.js"])
def test_the_widget_is_served_from_the_package(sample: Sample, file: str) -> None:
    assert httpx.get(sample.address + file).status_code == 200


def test_pages_keep_their_paths_under_another_base_url() -> None:
    source = SAMPLE_BOOK / "docs"
    assert source.is_dir()
    book = make_book({"docs/a.md": "[b](./b.md)", "docs/b.md": "B"})
    site = build_site(book, render_pages(book, SAMPLE_BOOK))
    page = site.page("/docs/a/")
    assert page is not None
    assert '<a href="/docs/b">b</a>' in page
    assert site.home == "/docs/a"


def test_the_pages_name_the_address_that_the_index_was_made_for(tmp_path: Path) -> None:
    """So the widget opens citations on the server it asks, whatever port that has."""
    folder = tmp_path / "book"
    folder.mkdir()
    (folder / "page.md").write_text("# Page\n\nOne paragraph of text.\n", encoding="utf-8")
    settings = offline_settings(tmp_path / "home", port=8123)
    made_for = "http://127.0.0.1:8000"
    ingest(settings, IngestRequest(folder, book=SAMPLE_BOOK_ID, base_url=made_for))

    async def address() -> str:
        async with application(settings) as rag:
            book, _ = await sample_pages(rag.settings, rag.index)
            return book.base_url

    assert asyncio.run(address()) == made_for
