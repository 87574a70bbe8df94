"""A book with several versions and locales: a reader is answered from the one of the page."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.bootstrap.books import read_source, requests_by_edition
from app.domain.book_id import BookId
from app.domain.edition import Edition
from app.services.ingest_plan import IngestRequest
from tests.built_pages import canonical, item, page
from tests.command_line import Run, write_files
from tests.serving import connected, ingest, offline_settings

SHARED = "An assistant keeps the log book of the lighthouse."
WICKS = "The wick of the lamp is trimmed every {hours} hours."
DOCHTE = "Der Docht der Lampe wird alle {hours} Stunden geschnitten."
FOG = "In fog the foghorn sounds twice a minute."
LENSES = "A Fresnel lens bends the light into one beam."


def built(path: str, title: str, *texts: str, version: str = "1.0", lang: str = "en") -> str:
    """Return a page as Docusaurus builds it; its sidebar lists the pages of its edition."""
    above = path.rpartition("/")[0]
    sidebar = item("Wicks", f"/{above}/wicks") + item("More", f"/{above}/{MORE[version]}")
    paragraphs = "".join(f"<p>{text}</p>" for text in texts)
    text = f'<div class="theme-doc-markdown"><h1>{title}</h1>{paragraphs}</div>'
    body = f'<ul class="theme-doc-sidebar-menu">{sidebar}</ul><article>{text}</article>'
    return page(
        f'<div id="__docusaurus">{body}</div>',
        '<meta name="generator" content="Docusaurus v3.10.2">'
        f'<meta name="docusaurus_version" content="{version}">'
        f"{canonical(path, 'https://lamps.example/')}",
        f"{title} | Lamps",
        lang,
    )


MORE = {"1.0": "fog", "current": "new"}
NEXT = {"version": "current"}
GERMAN = {"lang": "de"}
FILES = {
    f"{path}/index.html": built(path, *texts, **options)
    for path, texts, options in (
        ("docs/wicks", ("Wicks", WICKS.format(hours="four"), SHARED), {}),
        ("docs/fog", ("Fog", FOG), {}),
        ("docs/next/wicks", ("Wicks", WICKS.format(hours="nine"), SHARED), NEXT),
        ("docs/next/new", ("Lenses", LENSES), NEXT),
        ("de/docs/wicks", ("Dochte", DOCHTE.format(hours="vier")), GERMAN),
        ("de/docs/fog", ("Fog", FOG), GERMAN),
        ("de/docs/next/wicks", ("Wicks", WICKS.format(hours="nine"), SHARED), NEXT | GERMAN),
        ("de/docs/next/new", ("Lenses", LENSES), NEXT | GERMAN),
    )
}
PAGE = f"# Wicks\n\n{WICKS}\n\n{SHARED}\n"
IDS = ["lamps", "lamps+de", "lamps@next", "lamps@next+de"]


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_files(tmp_path_factory.mktemp("book") / "lamps", FILES)


@pytest.fixture(scope="module")
def client(book: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    settings = offline_settings(tmp_path_factory.mktemp("home") / "rag")
    for request in requests_by_edition(IngestRequest(book)):
        ingest(settings, request)
    with connected(settings) as client:
        yield client


def ask(client: httpx.Client, question: str, at: str = "", **options: object) -> dict[str, Any]:
    body = {"question": question, "page_url": at, **options}
    answer: dict[str, Any] = client.post("/v1/chat", json=body).raise_for_status().json()
    return answer


WICK = "How often is the wick of the lamp trimmed?"


@pytest.mark.parametrize("book_named", [True, False])
@pytest.mark.parametrize(
    ("page", "hours", "url"),
    [
        ("", "four", "https://lamps.example/docs/wicks"),
        ("/docs/wicks", "four", "https://lamps.example/docs/wicks"),
        ("/docs/next/wicks", "nine", "https://lamps.example/docs/next/wicks"),
        ("https://lamps.example/docs/next/", "nine", "https://lamps.example/docs/next/wicks"),
        ("https://preview.example/docs/next", "nine", "https://lamps.example/docs/next/wicks"),
        ("/de/docs/next", "nine", "https://lamps.example/de/docs/next/wicks"),
        ("/docs/nextdoor", "four", "https://lamps.example/docs/wicks"),
        ("http://[::1", "four", "https://lamps.example/docs/wicks"),
    ],
)
def test_a_question_is_answered_from_the_pages_version(
    client: httpx.Client, page: str, hours: str, url: str, *, book_named: bool
) -> None:
    answer = ask(client, WICK, page, **({"book": "lamps"} if book_named else {}))
    assert f"every {hours} hours" in answer["answer"]
    assert {one["url"].split("#")[0] for one in answer["citations"]} == {url}


@pytest.mark.parametrize("page", ["/de/docs/wicks", "/de/", "https://lamps.example/de/blog"])
def test_a_question_is_answered_from_the_pages_locale(client: httpx.Client, page: str) -> None:
    answer = ask(client, "Wie oft wird der Docht der Lampe geschnitten?", page)
    assert "alle vier Stunden" in answer["answer"]
    # What is not translated is shown in the default locale, at an address of this one.
    fog = ask(client, "How often does the foghorn sound in fog?", page)
    assert "https://lamps.example/de/docs/fog" in str(fog["citations"])


def test_what_a_version_does_not_answer_the_default_one_may(client: httpx.Client) -> None:
    question = "How often does the foghorn sound in fog?"
    answer = ask(client, question, "/docs/next/wicks")
    assert "twice a minute" in answer["answer"]
    on_page = ask(client, question, "/docs/next/wicks", scope="page")
    assert on_page["confidence"] == "not_in_book"


def test_search_and_permalinks_are_of_one_edition(client: httpx.Client) -> None:
    body = {"question": "assistant log book", "book": "lamps", "page_url": "/docs/next/wicks"}
    hits = client.post("/v1/search", json=body).json()["hits"]
    assert {hit["book"] for hit in hits} == {"lamps@next"}
    answer = ask(client, "Who keeps the log book?", "/docs/next/")
    citation = answer["citations"][0]
    assert citation["permalink"].endswith("?book=lamps&version=next")
    there = client.get(citation["permalink"])
    assert there.status_code == 302
    assert there.headers["location"].startswith("https://lamps.example/docs/next/wicks")
    default = client.get(citation["permalink"].partition("&")[0])
    assert default.headers["location"].startswith("https://lamps.example/docs/wicks")


def test_the_list_of_books_shows_the_editions_of_a_book(client: httpx.Client) -> None:
    listed = client.get("/v1/books").json()["books"]
    assert [(one["book"], one["version"], one["locale"], one["base_url"]) for one in listed] == [
        ("lamps", "1.0", "en", "https://lamps.example"),
        ("lamps+de", "1.0", "de", "https://lamps.example/de"),
        ("lamps@next", "next", "en", "https://lamps.example/docs/next"),
        ("lamps@next+de", "next", "de", "https://lamps.example/de/docs/next"),
    ]
    assert client.get("/readyz").json()["books"] == ["lamps"]


def listed(run: Run) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(run("books", "--json").out)
    return found


def test_an_ingest_brings_every_edition_and_takes_it_away(run: Run, book: Path) -> None:
    assert run("ingest", book, "--book", "lamps").code == 0
    assert [one["book"] for one in listed(run)] == IDS
    assert "lamps@next  Lamps  edition next en  version" in run("books").out
    ledgers = [run("links", one, "--ledger").lines() for one in IDS]
    assert all(ledgers)
    shared = [
        {one["paragraph_id"] for one in ledger if "assistant" in str(one)} for ledger in ledgers
    ]
    assert shared == [shared[0], set(), shared[0], shared[0]]  # an id is that of the text in each
    again = run("ingest", book, "--book", "lamps", "--json").json()
    assert again["book"] == "lamps"
    assert [(one["book"], one["unchanged"]) for one in again["editions"]] == [
        (name, True) for name in IDS
    ]
    assert run("remove", "lamps", "--yes").out == f"removed {', '.join(sorted(IDS))}\n"
    assert listed(run) == []


def test_an_edition_that_the_site_has_no_more_leaves_the_index(run: Run, tmp_path: Path) -> None:
    folder = write_files(tmp_path / "lamps", FILES)
    run("ingest", folder)
    shutil.rmtree(folder / "de")
    assert "removed lamps+de" in run("ingest", folder).err
    assert [one["book"] for one in listed(run)] == ["lamps", "lamps@next"]
    pages = {link["url"].split("#")[0] for link in run("links", "lamps").lines()}
    left = ("wicks", "fog", "next/wicks", "next/new")
    assert pages == {f"https://lamps.example/docs/{page}" for page in left}


def test_a_damaged_edition_that_still_answers_is_listed_and_removed_once(
    run: Run, home: Path, tmp_path: Path
) -> None:
    config = {"mkdocs.yml": "site_name: Lamps\nsite_url: https://lamps.example/\n"}
    for hours in ("four", "nine"):
        site = write_files(tmp_path, {**config, "docs/wicks.md": PAGE.format(hours=hours)})
        run("ingest", site, "--book", "lamps@0.9")
    run("ingest", site, "--book", "lamps")
    (manifest,) = home.glob("**/lamps@0.9/000002.manifest")
    manifest.write_text("damaged")
    urls = [(one["url"], one["paragraph_id"]) for one in run("links", "lamps").lines()]
    assert len(urls) == len({*urls}) > 0
    removed = run("remove", "lamps", "--yes")
    assert (removed.code, removed.out) == (0, "removed lamps, lamps@0.9\n")


def test_versions_deployed_one_by_one_are_named(run: Run, tmp_path: Path) -> None:
    config = {"mkdocs.yml": "site_name: Lamps\nsite_url: https://lamps.example/\n"}
    new = write_files(tmp_path / "new", {**config, "docs/wicks.md": PAGE.format(hours="nine")})
    old = write_files(tmp_path / "old", {**config, "docs/wicks.md": PAGE.format(hours="four")})
    run("ingest", new, "--book", "lamps")
    run("ingest", old, "--book", "lamps@0.9")
    run("ingest", new, "--book", "lamps")
    manifests = listed(run)
    assert [one["book"] for one in manifests] == ["lamps", "lamps@0.9"]
    assert manifests[1]["base_url"] == "https://lamps.example/0.9"
    hits = run("search", "wick", "--book", "lamps@0.9", "--json").json()["hits"]
    assert hits[0]["url"].startswith("https://lamps.example/0.9/wicks/")


def test_a_version_is_read_in_every_locale_of_its_folder(tmp_path: Path) -> None:
    pages = {name: text for name, text in FILES.items() if "/next/" not in name}
    version = Edition.named("0.9", "")
    request = IngestRequest(write_files(tmp_path, pages), BookId("lamps"), edition=version)
    books = [read_source(one) for one in requests_by_edition(request)]
    assert [(one.id, one.language) for one in books] == [
        ("lamps@0.9", "en"),
        ("lamps@0.9+de", "de"),
    ]


def test_a_site_of_several_versions_is_checked_from_its_root(run: Run, tmp_path: Path) -> None:
    site = "https://lamps.example/book/"
    source = {
        "mkdocs.yml": f"site_name: Lamps\nsite_url: {site}\n",
        "docs/wicks.md": PAGE.format(hours="nine"),
    }
    folder = write_files(tmp_path / "source", source)
    run("ingest", folder, "--book", "lamps", "--base-url", f"{site}latest")
    run("ingest", folder, "--book", "lamps@2.0")
    html = "<h1 id=wicks>Wicks</h1><p>The wick of the lamp is trimmed every nine hours.</p>"
    pages = {f"{one}/wicks/index.html": f"{html}<p>{SHARED}</p>" for one in ("latest", "2.0")}
    built = write_files(tmp_path / "site", pages)
    assert run("links", "lamps", "--check", built).out == ""
    assert run("links", "lamps@2.0", "--check", built).out == ""


@pytest.mark.parametrize(
    ("version", "locale", "expected"),
    [
        ("", "", "b"),
        ("2.x", "", "b@2.x"),
        ("v2_beta", "pt-BR", "b@v2-beta+pt-br"),
        ("", "zh-Hans", "b+zh-hans"),
        ("Über", "", "b@ber"),
        ("新", "", "b@3cc493bc"),
    ],
)
def test_ids_of_editions(version: str, locale: str, expected: str) -> None:
    made = Edition.named(version, locale).id_of(BookId("b"))
    assert made.name == "b"
    assert made == expected
    assert BookId(str(made)) == made
