"""A folder or file of a site is read as a part of it: its pages have the URLs of the whole site."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.adapters.markdown import editions_of, read_book, site_around
from app.domain.document import Site, SourceWarning
from app.domain.edition import Edition

BOOKS = Path(__file__).parents[1] / "fixtures" / "books"
PARTS = [
    ("docusaurus", "docs"),
    ("docusaurus", "docs/basics"),
    ("docusaurus", "docs/basics/01-first.md"),
    ("mdbook", "src"),
    ("mdbook", "src/part/listings.md"),
    ("mkdocs", "docs"),
    ("mkdocs", "docs/guide"),
    ("sphinx", "guide"),
    ("myst", "chapters"),
    ("repository", "book/ch/two.md"),
    ("nextjs", "src"),
    ("nextjs", "src/content"),
    ("nextjs", "src/content/learn/index.md"),
    ("jekyll", "contents"),
]


def _urls(folder: Path, part: str = "", edition: Edition | None = None) -> dict[Path, str]:
    book = read_book(folder, part=part, edition=edition or Edition())
    given = folder / part
    holding = given if given.is_dir() else given.parent
    return {holding / page.file: page.url for page in book.documents}


@pytest.mark.parametrize(("name", "path"), PARTS)
def test_pages_of_a_part_have_the_urls_of_the_whole_site(name: str, path: str) -> None:
    whole = _urls(BOOKS / name)
    found = site_around(BOOKS / name / path, site=None)
    assert found is not None
    assert found.folder.is_relative_to(BOOKS / name)
    part = _urls(found.folder, found.path)
    given = BOOKS / name / path
    assert part == {file: url for file, url in whole.items() if file.is_relative_to(given)}


@pytest.mark.parametrize(
    ("part", "orphans"), [("docs/guide", ("lone.md",)), ("docs/guide/x.md", ())]
)
def test_files_are_relative_to_the_part(
    part: str, orphans: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "mkdocs.yml").write_text("nav:\n- docs: gone.md\n- Guide: guide/x.md\n", "utf-8")
    (tmp_path / "docs" / "guide").mkdir(parents=True)
    for name in ("x.md", "lone.md"):
        (tmp_path / "docs" / "guide" / name).write_text("# Owls\n\n[gone](gone.md)\n", "utf-8")
    book = read_book(tmp_path, part=part)
    assert [page.file for page in book.documents] == ["x.md"]
    assert {block.file for block in book.blocks()} == {"x.md"}
    assert book.orphans == orphans
    assert [(one.file, one.line) for one in book.warnings] == [("../../mkdocs.yml", 2), ("x.md", 3)]


def test_a_part_keeps_its_own_name_as_book_id() -> None:
    assert read_book(BOOKS / "mkdocs", part="docs/guide").id == "guide"


@pytest.mark.parametrize("name", ["docusaurus", "jekyll", "sphinx", "repository/book"])
def test_a_folder_with_a_configuration_is_a_site(name: str) -> None:
    assert site_around(BOOKS / name, site=None) is None


def test_a_site_without_pages_in_the_folder_does_not_hold_it(tmp_path: Path) -> None:
    (tmp_path / "mkdocs.yml").write_text("site_name: Owls\n", "utf-8")
    for page in ("docs/index.md", "notes/one.md"):
        (tmp_path / page).parent.mkdir()
        (tmp_path / page).write_text("# Owls\n", "utf-8")
    assert site_around(tmp_path / "docs", site=None) is not None
    assert site_around(tmp_path / "notes", site=None) is None


def test_folders_above_a_repository_are_not_searched(tmp_path: Path) -> None:
    (tmp_path / "mkdocs.yml").write_text("docs_dir: .\n", "utf-8")
    page = tmp_path / "owls" / "guide" / "one.md"
    page.parent.mkdir(parents=True)
    page.write_text("# Owls\n", "utf-8")
    assert site_around(page.parent, site=None) is not None
    (tmp_path / "owls" / ".git").mkdir()
    assert site_around(page.parent, site=None) is None
    assert site_around(tmp_path / "owls", site=None) is None


def test_a_site_that_cannot_be_read_holds_nothing(tmp_path: Path) -> None:
    (tmp_path / "mkdocs.yml").write_text("nav: [\n", "utf-8")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "one.md").write_text("# Owls\n", "utf-8")
    assert site_around(tmp_path / "docs", site=None) is None


def test_the_docs_of_a_versioned_site_are_its_next_version(tmp_path: Path) -> None:
    (tmp_path / "docusaurus.config.js").write_text("export default {};\n", "utf-8")
    (tmp_path / "versions.json").write_text('["1.0"]', "utf-8")
    for folder in ("docs", "versioned_docs/version-1.0"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "owls.md").write_text("# Owls\n", "utf-8")
    found = site_around(tmp_path / "docs", site=None)
    assert found is not None
    assert list(_urls(tmp_path, "docs", found.edition).values()) == ["/docs/next/owls"]
    assert editions_of(tmp_path, part="docs") == (found.edition,)


@pytest.mark.parametrize(
    ("files", "read"),
    [
        (("pages/book/cells.md",), True),
        (("docs/build/index.md", "docs/build/steps/log.md"), True),
        (("book/print.html", "book/html/index.md"), False),
        (("build/index.html", "build/index.md"), False),
        (("dist/package.json", "dist/README.md"), False),
        (("node_modules/owls/index.md",), False),
    ],
)
def test_build_output_is_not_read_and_pages_in_a_folder_of_that_name_are(
    tmp_path: Path, files: tuple[str, ...], read: bool
) -> None:
    for name in ("start.md", *files):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("# Owls\n\nOwls hunt.\n")
    pages = {page.file for page in read_book(tmp_path).documents}
    assert pages == {"start.md", *(files if read else ())}


@pytest.mark.parametrize(("site", "warned"), [(Site.MKDOCS, True), (Site.MDBOOK, False)])
def test_a_site_read_as_another_one_is_warned_of(site: Site, warned: bool) -> None:
    warnings = read_book(BOOKS / "mdbook", site=site).warnings
    said = "this is a site of mdbook, read as one of mkdocs: leave out --site"
    assert (SourceWarning(said, "book.toml", 1) in warnings) is warned
