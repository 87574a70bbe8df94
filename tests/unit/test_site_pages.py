"""Which pages of a built site are read, in which order, under which chapters and addresses.

`fixtures/site_pages.txt` has cases: given are the base URL and the files, or a site of
`fixtures/sites`; read are of each edition the pages, and those that are left out, one a line.
"""

from collections.abc import Iterator
from dataclasses import astuple
from pathlib import Path

import pytest

from app.adapters.reading import tree
from app.adapters.reading.documents import OpenedBook
from app.adapters.reading.site_pages import REPEATED, open_site_folder
from app.domain.errors import FileRefused, InputError
from tests.built_pages import BASE, canonical, item, links, page
from tests.command_line import write_files
from tests.conftest import ROOT
from tests.markdown_pages import read_folder
from tests.recorded_cases import RecordedCases

FIXTURES = ROOT / "tests/fixtures/sites"


def read(folder: Path, site: str) -> str:
    first, *pages = site.strip("\n").split("\n")
    kind, _, value = first.partition(": ")
    write_files(folder, dict(one.split(": ", 1) for one in pages))
    found = open_site_folder(*((FIXTURES / value,) if kind == "site" else (folder, value)))
    return "\n".join(line for one in found for line in shown(one))


def shown(book: OpenedBook) -> Iterator[str]:
    yield f"edition {astuple(book.edition)} of {book.site} at {book.base_url}: {book.title}"
    for one in book.pages:
        facts = (f"{one.file} {one.url}", one.title, one.chapter, str(one.chapter_number or ""))
        yield " | ".join(facts).rstrip(" |")
    for why, names in book.left_out.items():
        yield f"- {', '.join(names)}: {why}"


CASES = RecordedCases("site_pages.txt", read)


@pytest.mark.parametrize(("site", "expected"), CASES.parameters())
def test_pages_order_addresses_and_chapters(site: str, expected: str, tmp_path: Path) -> None:
    assert read(tmp_path, site) == expected


def only(folder: Path, base_url: str = BASE) -> OpenedBook:
    (site,) = open_site_folder(folder, base_url)
    return site


def files(site: OpenedBook) -> list[str]:
    return [one.file for one in site.pages]


def prose(subject: str) -> str:
    return f"All that is known of {subject} is told here."


def test_a_page_of_the_whole_book_is_left_out_even_if_it_is_listed(tmp_path: Path) -> None:
    """Two listed pages that differ little both stay."""
    texts = {name: [prose(f"{name} {at}") for at in range(12)] for name in ("eyes", "ears", "beak")}
    texts["all"] = [*texts["eyes"], *texts["ears"], *texts["beak"]]
    texts["beaks"] = [*texts["beak"][1:], prose("beaks")]
    menu = "".join(item(name, f"{name}.html") for name in ("all", *texts))
    pages = {
        f"{name}.html": page(
            f"<nav><ul>{menu}</ul></nav><main>{''.join(f'<p>{one}</p>' for one in own)}</main>"
        )
        for name, own in texts.items()
    }
    site = only(write_files(tmp_path, pages))
    assert files(site) == [f"{name}.html" for name in ("eyes", "ears", "beak", "beaks")]
    assert site.left_out == {REPEATED: ["all.html"]}


def test_pages_of_classes_that_inherit_most_of_their_text_stay(tmp_path: Path) -> None:
    inherited = "".join(f"<p>{prose(f'method {at}')}</p>" for at in range(20))
    names = [f"{at}.html" for at in range(9)]
    folder = write_files(
        tmp_path, {name: page(f"<p>{prose(name)}</p>{inherited}") for name in names}
    )
    assert files(only(folder)) == names


def test_a_page_that_is_too_large_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree, "MAX_BYTES", 1_000)
    folder = write_files(tmp_path, {"index.html": page(), "big.html": page("x" * 1_001)})
    with pytest.raises(FileRefused, match=r"big\.html"):
        open_site_folder(folder, BASE)


def test_files_outside_the_folder_are_not_read(tmp_path: Path) -> None:
    secret = write_files(tmp_path / "outside", {"secret.html": page()})
    folder = write_files(tmp_path / "site", {"index.html": page(links("../outside/secret.html"))})
    (folder / "link.html").symlink_to(secret / "secret.html")
    site = only(folder)
    assert files(site) == ["index.html"]
    assert [*site.left_out.values()] == [["link.html"]]


def test_a_single_page_is_a_site_at_its_canonical_or_given_address(tmp_path: Path) -> None:
    text = page("<main><p>Owls.</p></main>", canonical("owls.html"), "Owls", "de")
    path = write_files(tmp_path, {"404.html": text, "other.html": page()}) / "404.html"
    urls = [one.url for given in ("", BASE) for one in only(path, given).pages]
    assert urls == [f"{BASE}owls.html", BASE]
    assert (only(path).title, only(path).language) == ("Owls", "de")
    assert [one.text for one in read_folder(path).blocks()] == ["Owls."]


def test_a_folder_without_pages_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no built pages"):
        open_site_folder(tmp_path)


@pytest.mark.parametrize("name", "honkit jupyter-book latexml mdbook pretext zensical".split())
def test_the_text_of_small_sites_that_the_real_tools_built(name: str) -> None:
    book = read_folder(FIXTURES / name)
    assert [(one.kind.value, one.text) for one in book.documents[-1].blocks][-2:] == [
        ("paragraph", "The left ear of a barn owl is higher than the right one."),
        ("list", "1. Sit still.\n2. Turn the head."),
    ]


@pytest.mark.parametrize(
    ("name", "base_url", "pages", "chapters"),
    [
        ("typer", "https://typer.tiangolo.com", 73, 7),
        ("rust-by-example", "https://doc.rust-lang.org/rust-by-example", 196, 25),
    ],
)
def test_real_sites(shared_data: Path, name: str, base_url: str, pages: int, chapters: int) -> None:
    site = only(shared_data / "sites" / name, base_url)
    assert len(site.pages) == pages
    assert len({one.chapter for one in site.pages}) == chapters
    assert all(one.title and one.url.startswith(base_url) for one in site.pages)


COOKIES = "<p>This site uses cookies to count visits.</p>"
HELPFUL = "<h2>Feedback</h2><p>Was this page helpful?</p>"
IMPORTS = "<pre>import owls</pre>"


def read_pages(
    folder: Path, count: int, before: str = "", after: str = ""
) -> tuple[str, list[str]]:
    """Return the text of the first page, and the warnings, of a site of so many pages."""
    pages = {
        f"{number}.html": page(
            f"<main><h1>Owl {number}</h1>{before}<p>Owl {number} hunts.</p>{after}</main>"
        )
        for number in range(count)
    }
    pages["other.html"] = page("<main><h1>Bats</h1><p>Bats hang.</p></main>")
    book = read_folder(write_files(folder, pages), base_url=BASE)
    warnings = [one.message for one in book.warnings]
    (first,) = (one for one in book.documents if one.file == "0.html")
    return " ".join(block.text for block in first.blocks), warnings


@pytest.mark.parametrize(("before", "after"), [(COOKIES, ""), ("", HELPFUL), (COOKIES, HELPFUL)])
def test_notes_around_most_pages_are_left_out_and_counted(
    tmp_path: Path, before: str, after: str
) -> None:
    count = 9 * ((before + after).count("</"))
    assert read_pages(tmp_path, 9, before, after) == (
        "Owl 0 Owl 0 hunts.",
        [f"{count} blocks left out that most pages begin or end with"],
    )


def test_the_site_s_name_above_each_page_is_no_title(tmp_path: Path) -> None:
    pages = {
        f"{one}.html": page(
            f"<div><h1>Birds</h1></div><h2 id=a>Owl {one}</h2><h3>Eyes</h3><p>{one}"
        )
        for one in ("index", *range(9))
    }
    last = read_folder(write_files(tmp_path, pages)).documents[-1]
    assert (last.title, last.chapter) == ("Owl 8", "Owl 8")
    assert [one.heading_path for one in last.blocks] == [("Owl 8",), *[("Owl 8", "Eyes")] * 2]


@pytest.mark.parametrize(
    ("count", "before", "after"),
    [
        (6, COOKIES, ""),  # too few pages
        (9, "<h2>Overview</h2>", ""),  # a heading of text that differs
        (9, "<p>In this chapter:</p>", ""),
        (9, IMPORTS, ""),
        (9, "", f"<h2>Notes</h2>{IMPORTS}"),
    ],
)
def test_what_belongs_to_the_text_stays(
    tmp_path: Path, count: int, before: str, after: str
) -> None:
    text, warnings = read_pages(tmp_path, count, before, after)
    assert warnings == []
    stays = [one.rpartition(">")[2] for one in f"{before}{after}".split("</") if ">" in one]
    assert all(one in text for one in stays)


if __name__ == "__main__":
    CASES.write_anew()
