"""Addresses are ASCII and safe wherever they go; what is no address is refused."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.document import Site
from app.domain.page_links import page_links
from app.domain.urls import checked_base_url, encoded_path, encoded_url, page_key, with_anchor
from tests.command_line import Run
from tests.markdown_pages import identified, read_folder

pytestmark = pytest.mark.attack

SAFE = re.compile(r"[A-Za-z0-9%._~!$&*+,;=:@/?#\[\]-]*")
PAGE = (
    "# 灯塔 {#\"><b>}\n\nOld lamps burned whale oil all night.\n\n"
    "## 透镜\n\nThe lens bends the light.\n\n"
    "## Mark (it) {#b)[x](javascript:alert'1')}\n\nKeepers trimmed the wick.\n"
)  # fmt: skip


@pytest.mark.parametrize("site", Site)
def test_every_address_of_a_book_is_percent_encoded(site: Site, tmp_path: Path) -> None:
    for name in ("src/第一章/灯 (塔) 'x'.md", "src/100%.md"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(PAGE)
    (tmp_path / "src/SUMMARY.md").write_text("- [灯](<第一章/灯 (塔) 'x'.md>)\n- [P](100%.md)\n")
    book = read_folder(tmp_path, site=site, base_url="https://e.org/书")
    urls = [document.url for document in book.documents]
    urls += [block.url for block in book.blocks()]
    urls += [link for document in book.documents for link in page_links(document)]
    assert urls
    assert [url for url in urls if not SAFE.fullmatch(url)] == []
    assert all(url.startswith("https://e.org/%E4%B9%A6/") for url in urls)


def test_an_id_stays_as_its_author_wrote_it(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text('# 灯塔 {#灯}\n\nOld lamps.\n\n<p id="焦点">The focus.</p>\n')
    book = identified(read_folder(tmp_path, site=Site.MKDOCS))
    heading = next(book.blocks())
    assert heading.anchor == "灯"
    assert heading.url.endswith("#%E7%81%AF")
    assert [*book.blocks()][-1].paragraph_id == "焦点"


@given(st.text())
def test_encoding_is_safe_and_done_once(text: str) -> None:
    for encode in (encoded_url, encoded_path, lambda anchor: with_anchor("", anchor)):
        once = encode(text)
        assert SAFE.fullmatch(once)
        assert encoded_url(once) == once
    assert not re.search(r"[?#]", encoded_path(text))


def test_a_page_is_known_by_its_address_encoded_or_not() -> None:
    url = "https://e.org/第一章/灯.html"
    assert page_key(encoded_url(url)) == page_key(url)


def test_what_docusaurus_encoded_is_not_encoded_again(tmp_path: Path) -> None:
    (tmp_path / "docusaurus.config.js").write_text("module.exports = {url: 'https://x.org'};")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/a.md").write_text("---\nslug: /caf%C3%A9\n---\n\nText.\n")
    book = read_folder(tmp_path, base_url="https://e.org/docs")
    assert book.documents[0].url == "https://e.org/docs/caf%C3%A9"


REFUSED = (
    "javascript:alert(1)",
    "notaurl",
    "//e.org/x",
    "/docs",
    "https://",
    "https:///x",
    "ftp://e.org",
    "https://user:secret@e.org",
    "https://e.org\r\nX: y",
    "https://e .org",
    "https://e.org:port",
    "https://[::1",
    "https://e.org\\@evil.example",
    "https://e.org/?q=",
    "https://e.org/#a",
    'https://e"><script>.org',
    "https://a..b",
    "\thttps://e.org",
)


@pytest.mark.parametrize("url", REFUSED)
def test_what_is_no_web_address_is_refused(url: str, run: Run, home: Path) -> None:
    (home / "a.md").write_text(PAGE)
    refused = run("ingest", home / "a.md", "--base-url", url)
    line = refused.refusal()
    assert "secret" not in refused.err
    assert line.startswith("textbook-rag ingest: Invalid value for '--base-url': address ")


@pytest.mark.parametrize(
    ("given_url", "made"),
    [
        ("", ""),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("http://[::1]:8000/docs/", "http://[::1]:8000/docs/"),
        ("HTTPS://E.org", "https://E.org"),
        ("https://e.org/@author/book", "https://e.org/@author/book"),
        ("https://straße.de/b", "https://xn--strae-oqa.de/b"),
        ("https://bücher.example:444/é%20é", "https://xn--bcher-kva.example:444/%C3%A9%20%C3%A9"),
    ],
)
def test_a_web_address_is_made_ascii(given_url: str, made: str) -> None:
    assert checked_base_url(given_url) == made


@pytest.mark.parametrize("url", ["javascript:alert(1)", "https://user:pw@e.org", "ftp://e.org"])
@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("mkdocs.yml", "site_name: S\nsite_url: {}\n"),
        ("book.toml", '[output.html]\nsite-url = "{}"\n'),
    ],
)
def test_a_configured_address_that_is_none_is_left_out(
    file: str, text: str, url: str, tmp_path: Path
) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "docs").mkdir()
    (tmp_path / file).write_text(text.format(url))
    (tmp_path / "src/SUMMARY.md").write_text("[A](a.md)\n")
    for page in ("a.md", "src/a.md", "docs/a.md"):
        (tmp_path / page).write_text("# A\n\nText.\n")
    book = read_folder(tmp_path)
    assert all(document.url.startswith("/") for document in book.documents)
    (warning,) = [str(one) for one in book.warnings if "address '" in str(one)]
    assert re.match(rf"{file}: ", warning)
    assert not read_folder(tmp_path, base_url="https://e.org").warnings


@pytest.mark.parametrize(
    ("toc", "config"),
    [
        ("_toc.yml", "html: {baseurl: 'https://e.org/owls'}\n"),
        ("SUMMARY.md", "url: https://e.org/\nbaseurl: /owls\n"),
    ],
    ids=["Jupyter Book", "Jekyll"],
)
def test_the_address_in_a_sites_settings_is_that_of_its_pages(
    toc: str, config: str, tmp_path: Path
) -> None:
    (tmp_path / toc).write_text("root: a\n" if toc == "_toc.yml" else "- [A](a.md)\n")
    (tmp_path / "_config.yml").write_text(config)
    (tmp_path / "a.md").write_text("# A\n\nAn owl.\n")
    [page] = read_folder(tmp_path).documents
    assert page.url == "https://e.org/owls/a.html"
