"""Blocks of built pages, from the mark-up that each theme writes.

`fixtures/built_blocks.txt` has cases: given is the HTML; read are its blocks, one a line.
"""

from dataclasses import astuple
from pathlib import Path

import pytest

from app.domain.document import Block, Book
from app.domain.page_links import page_links
from tests.built_pages import BASE
from tests.command_line import write_files
from tests.markdown_pages import read_folder
from tests.recorded_cases import RecordedCases


def book_of(folder: Path, html: str) -> Book:
    body = html if "<main" in html else f"<main>{html}</main>"
    site = write_files(folder, {"index.html": f"<title>A</title>{body}"})
    return read_folder(site, base_url=BASE)


def shown(block: Block) -> str:
    facts = {
        "language": block.language,
        "anchor": block.anchor if block.level else "",
        "id": block.author_id,
        "figure": block.figure and " | ".join(filter(None, astuple(block.figure))),
        "terms": ", ".join(block.terms),
    }
    notes = "".join(f" {name}={value}" for name, value in facts.items() if value)
    return f"{block.kind.value}{notes}: {block.text}".replace("\n", "⏎")


def read(folder: Path, html: str) -> str:
    page = book_of(folder, html).documents[0]
    for block in page.blocks:
        assert page.source[block.start : block.end] == block.text
    return "\n".join(map(shown, page.blocks))


CASES = RecordedCases("built_blocks.txt", read)


@pytest.mark.parametrize(("html", "blocks"), CASES.parameters())
def test_the_markup_of_themes_becomes_blocks(html: str, blocks: str, tmp_path: Path) -> None:
    assert read(tmp_path, html) == blocks


OPTION = (
    '<section id="build"><h1>Build</h1><dl class="std option"><dt class="sig sig-object std"'
    ' id="cmdoption-b"><span class="sig-name descname"><span class="pre">-b</span></span><span'
    ' class="sig-prename descclassname"> <span class="pre">name</span></span></dt><dd>'
    "<p>Sets the builder.</p></dd></dl>"
)
METHOD = (
    '<dl class="py class"><dt class="sig sig-object py" id="owl.Owl"><em class="property">class '
    '</em><span class="sig-name descname">Owl</span><span class="sig-paren">(</span>age<span '
    'class="sig-paren">)</span></dt><dd><dl class="py method"><dt class="sig sig-object py" '
    'id="owl.Owl.hoot"><span class="sig-name descname">hoot</span><span class="sig-paren">(</span>'
    '<span class="sig-paren">)</span></dt><dd><div class="highlight-python notranslate"><div '
    'class="highlight"><pre><span></span>Owl(3).hoot()\n</pre></div></div></dd></dl></dd></dl>'
    "</section><h2 id='end'>End</h2><p>All of it.</p>"
)


def test_what_documents_an_option_or_function_is_below_its_signature(tmp_path: Path) -> None:
    blocks = {one.text: one for one in book_of(tmp_path, OPTION + METHOD).documents[0].blocks}
    places = {
        text: (one.heading_path[1:], one.url.partition("#")[2]) for text, one in blocks.items()
    }
    assert places["Sets the builder."] == (("-b name",), "cmdoption-b")
    assert places["Owl(3).hoot()"] == (("class Owl", "hoot"), "owl.Owl.hoot")
    assert places["All of it."] == (("End",), "end")


def test_the_quote_of_numbered_code_does_not_begin_at_a_number(tmp_path: Path) -> None:
    """A browser sees "1class", which is one word."""
    numbered = '<span class="linenos">1</span>class <span>Owl(Bird, Hunter, Flyer)</span>:'
    html = f'<body><main><div class="highlight"><pre>{numbered}</pre></div></main></body>'
    assert page_links(book_of(tmp_path, html).documents[0])[0].endswith(
        ":~:text=Owl%28Bird%2C%20Hunter%2C%20Flyer"
    )


if __name__ == "__main__":
    CASES.write_anew()
