"""The URLs of a Jekyll site's pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.adapters.markdown import read_book

PAGES = {
    "_lessons/de/10-wicks.md": "title: W&auml;rme",
    "_lessons/oil.md": "permalink: /oil/",
    "about us.md": "title: About",
    "guide/index.md": "title: Guide",
    "guide/trim.md": "permalink: /how-to/trim.html",
}


@pytest.mark.parametrize(
    ("config", "urls"),
    [
        (
            "",
            [
                "/_lessons/de/10-wicks.html",
                "/_lessons/oil.html",
                "/about%20us.html",
                "/guide/",
                "/guide/trim.html",
            ],
        ),
        (
            "collections: {lessons: {output: true}}",
            [
                "/lessons/de/10-wicks.html",
                "/oil/",
                "/about%20us.html",
                "/guide/",
                "/how-to/trim.html",
            ],
        ),
        (
            (
                "permalink: /:categories/:title/\n"
                "collections:\n  lessons:\n    output: true\n    permalink: '/:collection/:name'"
            ),
            [
                "/lessons/10-wicks",
                "/oil/",
                "/about%20us/",
                "/guide/",
                "/how-to/trim.html",
            ],
        ),
        (
            "permalink: pretty\ncollections_dir: ''\ncollections: {lessons: }",
            [
                "/lessons/de/10-wicks/",
                "/oil/",
                "/about%20us/",
                "/guide/",
                "/how-to/trim.html",
            ],
        ),
    ],
)
def test_pages_have_the_urls_of_their_permalinks(
    config: str, urls: list[str], tmp_path: Path
) -> None:
    for name, front in PAGES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"---\n{front}\n---\nTrim the wick.\n")
    if config:
        (tmp_path / "_config.yml").write_text(config)
    assert [page.url for page in read_book(tmp_path).documents] == urls


def test_entities_in_a_title_are_characters(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("---\ntitle: W&auml;rme\n---\nTrim the wick.\n")
    [page] = read_book(tmp_path).documents
    assert (page.title, page.blocks[0].heading_path) == ("Wärme", ("Wärme",))
