"""Nothing outside a book's folder is read, by whatever way it is named."""

import os
from pathlib import Path

import pytest

from app.bootstrap.books import chunking_config
from app.domain.document import Site
from app.domain.errors import BookError
from tests.command_line import write_files
from tests.markdown_pages import read_folder

pytestmark = pytest.mark.attack

SECRET = "root-of-all-secrets"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A book of one page, beside it a file with a secret and a folder of such files."""
    page = "# A\n\nText of the page.\n"
    secrets = {"secret.md": f"# Secret\n\n{SECRET}.\n", "elsewhere/more.md": f"{SECRET}.\n"}
    return write_files(tmp_path, {**secrets, "book/docs/a.md": page}) / "book"


def read(folder: Path, site: Site | None = None) -> tuple[str, list[str]]:
    book = read_folder(folder, site=site)
    return repr(book.documents), [str(warning) for warning in book.warnings]


LISTED = "- [A](docs/a.md)\n- [X]({})\n"
WAYS: dict[str, tuple[dict[str, str], str]] = {
    "linked file": ({"docs/x.md": "-> ../../secret.md"}, "docs/x.md"),
    "linked twice": ({"docs/.y": "-> ../../secret.md", "docs/x.md": "-> .y"}, "docs/x.md"),
    "linked folder": ({"docs/x": "-> ../../elsewhere"}, "docs/x"),
    "file through a linked folder": (
        {"SUMMARY.md": LISTED.format("docs/.x/more.md"), "docs/.x": "-> ../../elsewhere"},
        "docs/.x/more.md",
    ),
    "listed by dots": ({"SUMMARY.md": LISTED.format("../secret.md")}, "../secret.md"),
    "folder of MkDocs": ({"mkdocs.yml": "site_name: T\ndocs_dir: ../elsewhere\n"}, ""),
    "configuration": (
        {"../mkdocs.yml": f"site_name: {SECRET}\n", "mkdocs.yml": "-> ../mkdocs.yml"},
        "",
    ),
    "table of contents": (
        {"../toc.yml": f"- title: {SECRET}\n  local: a\n", "docs/_toctree.yml": "-> ../../toc.yml"},
        "",
    ),
}
"""The files and links of each way out of the book, and the file that is named as not read."""


def lead_out(folder: Path, way: str) -> str:
    files, named = WAYS[way]
    for name, text in files.items():
        if text.startswith("-> "):
            (folder / name).symlink_to(text.removeprefix("-> "))
        else:
            write_files(folder, {name: text})
    return named


@pytest.mark.parametrize("way", WAYS)
def test_what_leads_out_of_the_book_is_not_read_but_named(way: str, folder: Path) -> None:
    named = lead_out(folder, way)
    text, warnings = read(folder)
    assert SECRET not in text
    assert len([one for one in warnings if one.startswith(f"{named}: ")]) == bool(named)


@pytest.mark.long
@pytest.mark.parametrize("site", Site)
@pytest.mark.parametrize("way", WAYS)
def test_no_dialect_reads_what_leads_out_of_the_book(way: str, site: Site, folder: Path) -> None:
    lead_out(folder, way)
    try:
        text, _ = read(folder, site)
    except BookError as error:  # where a dialect needs a file that is not there
        text = str(error)
    assert SECRET not in text


def test_links_within_the_book_are_read(folder: Path) -> None:
    (folder / "parts").mkdir()
    (folder / "parts/b.txt").write_text("# B\n\nText behind a link.\n")
    (folder / "docs/b.md").symlink_to("../parts/b.txt")
    text, warnings = read(folder)
    assert "Text behind a link." in text
    assert not warnings


def test_a_book_reached_by_a_link_is_read(folder: Path) -> None:
    (folder.parent / "link").symlink_to(folder)
    (folder.parent / "link.md").symlink_to(folder / "docs/a.md")
    for path in ("link", "link.md"):
        text, warnings = read(folder.parent / path)
        assert "Text of the page." in text
        assert not warnings


def test_circles_of_links_end(folder: Path) -> None:
    (folder / "docs/again").symlink_to(folder)
    (folder / "docs/x.md").symlink_to("y.md")
    (folder / "docs/y.md").symlink_to("x.md")
    (folder / "404.html").symlink_to("nowhere.html")
    text, warnings = read(folder)
    assert text.count("source=") == 1
    named = {one.partition(":")[0] for one in warnings}
    assert named == {"docs/again", "docs/x.md", "docs/y.md"}


def test_pipes_and_devices_are_never_opened(folder: Path) -> None:
    os.mkfifo(folder / "docs/pipe.md")
    (folder / "docs/zero.md").symlink_to("/dev/zero")
    text, warnings = read(folder, Site.DOCUSAURUS)
    assert "Text of the page." in text
    named = {one.partition(":")[0] for one in warnings if "outside the book" in one}
    assert named == {"docs/pipe.md", "docs/zero.md"}


@pytest.mark.parametrize("target", ["/dev/zero", "../secret.md", "pipe"])
def test_settings_are_the_books_own_file(target: str, folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    (folder / "rag.toml").symlink_to(target)
    with pytest.raises(BookError, match=r"^rag\.toml: (?!.*secrets)"):
        chunking_config(folder)
