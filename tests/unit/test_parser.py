"""Small books of every site generator, read whole: each block as a reader sees it.

`fixtures/books/NAME/` is a book; `fixtures/books/NAME.jsonl` says what comes out: one line a
page, one a block, then orphans and warnings. After a change that is meant, write them anew with
`python -m tests.unit.test_parser` and read the difference.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.adapters.reading.book import read_book, read_text
from app.domain.document import BlockKind, Book, Site
from tests.conftest import ROOT
from tests.parser_invariants import assert_sound

BOOKS = ROOT / "tests/fixtures/books"
NAMES = sorted(path.name for path in BOOKS.iterdir() if path.is_dir())


def described(book: Book) -> Iterator[object]:
    """Yield what the book holds as values that fit a line of JSON."""
    yield {"book": book.title, "site": book.site.value, "base_url": book.base_url}
    for page in book.documents:
        yield {"page": page.file, "title": page.title, "chapter": page.chapter, "url": page.url}
        for block in page.blocks:
            facts = {
                "level": block.level,
                "language": block.language,
                "title": block.title,
                "terms": list(block.terms),
                "included": block.included,
                "author_id": block.author_id,
                "parts": len(block.parts),
            }
            shown = {name: value for name, value in facts.items() if value}
            yield [block.kind.value, block.anchor, block.text, shown]
    yield {"orphans": list(book.orphans)}
    for warning in book.warnings:
        yield str(warning)


@pytest.mark.parametrize("name", NAMES)
def test_a_book_comes_out_as_its_reader_sees_it(name: str) -> None:
    lines = (BOOKS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    assert list(described(read_book(BOOKS / name))) == [json.loads(line) for line in lines]


@pytest.mark.parametrize("name", NAMES)
def test_every_character_of_a_book_is_in_a_block_or_known_markup(name: str) -> None:
    book = read_book(BOOKS / name)
    assert book.coverage == 1.0
    for page in book.documents:
        assert_sound(page, library=BOOKS / name)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_book_gives_the_same_ids_and_version(name: str) -> None:
    first, second = read_book(BOOKS / name), read_book(BOOKS / name)
    assert first == second


def test_orphans_are_taken_when_asked_for() -> None:
    book = read_book(BOOKS / "mdbook")
    assert book.documents[-1].file == "src/orphan.md"
    assert book.orphans == ()


def test_ids_are_unique_in_a_book() -> None:
    ids = [block.paragraph_id for block in read_book(BOOKS / "docusaurus").blocks()]
    assert len(ids) == len(set(ids))
    assert all(ids)


def test_a_heading_path_runs_from_the_title_to_the_section() -> None:
    book = read_book(BOOKS / "docusaurus")
    blocks = {block.text: block for block in book.blocks()}
    assert blocks["Inside a widget."].heading_path == ("Introduction", "Choices", "Set x")
    assert blocks["Set x"].heading_path == ("Introduction", "Choices", "Set x")
    assert blocks["First"].heading_path == ("First",)


@pytest.mark.parametrize(
    ("folder", "site"),
    [("lectures", Site.MYST), ("a/b", Site.MYST), ("a/b/c", Site.PLAIN), ("tests/a", Site.PLAIN)],
)
def test_the_table_of_contents_of_a_repositorys_book_stands_near_its_root(
    tmp_path: Path, folder: str, site: Site
) -> None:
    (tmp_path / folder).mkdir(parents=True)
    (tmp_path / folder / "_toc.yml").write_text("root: intro\n")
    (tmp_path / folder / "intro.md").write_text("# Owls\n")
    assert read_book(tmp_path).site is site


def test_a_single_file_is_a_book(tmp_path: Path) -> None:
    path = tmp_path / "note.md"
    path.write_text("# Note\n\nOne paragraph.\n", encoding="utf-8")
    book = read_book(path)
    assert (book.id, book.title) == ("note", "Note")
    assert [block.kind for block in book.blocks()] == [BlockKind.HEADING, BlockKind.PARAGRAPH]


def test_substitutions_in_one_line_and_numbers_of_formulas(tmp_path: Path) -> None:
    conf = 'myst_substitutions = {"ver": "1.2"}  # of all pages\n'
    (tmp_path / "conf.py").write_text(conf)
    formulas = "```{math}\n:label: one\na\n```\n\n$$\nx\n$$ (two)\n\n"
    text = f"Version {{{{ ver }}}}.\n\n{formulas}See {{eq}}`one`, {{eq}}`two`.\n"
    for name in ("index.md", "other.md"):
        (tmp_path / name).write_text(text.replace("one", f"{name[0]}1").replace("two", name[0]))
    book = read_book(tmp_path)
    for page in book.documents:
        shown = [block.text for block in page.blocks]
        assert (shown[0], shown[-1]) == ("Version 1.2.", "See (1), (2).")


@pytest.mark.parametrize(
    ("file", "problem"),
    [
        ("a.rst", "is no Markdown file"),
        ("b.rst", "missing"),
    ],
)
def test_a_listed_page_that_is_not_read_is_named(file: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / file).touch()
    (tmp_path / "intro.md").write_text("# Owls\n")
    (tmp_path / "_toc.yml").write_text("root: intro\nchapters:\n- file: a\n")
    [warning] = read_book(tmp_path).warnings
    assert warning.message.startswith(f"listed in the table of contents but {problem}: a")


def test_marks_of_changes_are_not_shown(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    extensions = "[pymdownx.critic, pymdownx.keys]"
    (tmp_path / "mkdocs.yml").write_text(f"site_name: S\nmarkdown_extensions: {extensions}\n")
    text = "Press ++ctrl+s++, {++added++} {--*gone* now--} {==seen==} {++open.\n"
    (tmp_path / "docs/index.md").write_text(text)
    [block] = read_book(tmp_path).blocks()
    assert block.text == "Press Ctrl+S, added gone now seen {++open."


@pytest.mark.parametrize(
    ("folders", "file", "path"),
    [
        ("false", "index.md", "/"),
        ("false", "a/01_Owls & bats.md", "/owls-and-bats"),
        ("false", "2024-review.md", "/2024-review"),
        ("false", f"{'long-' * 12}.md", f"/{'long-' * 10}"),
        ("false", "第一章.md", "/%E7%AC%AC%E4%B8%80%E7%AB%A0"),
        ("false", "a/02-bats/index.md", "/index-1"),
        ("false", "a/owls.md", "/owls"),
        ("false", "b/owls.md", "/owls-1"),
        ("false", "z10/owls.md", "/owls-3"),
        ("true", "b/owls.md", "/b/owls"),
        ("true", "b.md", "/b"),
        ("true", "b/index.md", "/b-1"),
        ("true", "index.md", "/"),
        ("true", "a/02-bats/01_Wings.md", "/a/bats/wings"),
        ("true", "a/index.md", "/a"),
        ("true", "a/README.md", "/a/readme"),
    ],
)
def test_the_paths_of_mystmd(folders: str, file: str, path: str, tmp_path: Path) -> None:
    options = f"site: {{options: {{folders: {folders}}}}}\n"
    (tmp_path / "myst.yml").write_text(f"version: 1\nproject: {{}}\n{options}")
    for one in ("index.md", "a/owls.md", "b/owls.md", "z9/owls.md", file):
        (tmp_path / one).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / one).write_text("# Owls\n")
    if file == "b/index.md":
        (tmp_path / "b.md").write_text("# Owls\n")
    assert {page.file: page.url for page in read_book(tmp_path).documents}[file] == path


@pytest.mark.parametrize("root", ["README.md", "a/welcome.md"])
def test_the_first_page_of_mystmd_is_the_root_of_the_site(root: str, tmp_path: Path) -> None:
    toc = f"[{{file: {root}}}, {{file: n.ipynb}}, {{file: b/n.md}}, {{file: index.md}}]"
    owls = '{"cells": [{"cell_type": "markdown", "source": "# Owls"}]}'
    (tmp_path / "myst.yml").write_text(f"version: 1\nproject:\n  toc: {toc}\n")
    for file in (root, "n.ipynb", "b/n.md", "index.md", "c/n.md"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(owls if file == "n.ipynb" else "# Owls\n")
    urls = [page.url for page in read_book(tmp_path).documents]
    assert urls == ["/", "/n", "/n-1", "/index-1", "/n"]


def test_pages_of_other_generators_are_counted(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# Owls\n")
    for file in ("one.qmd", "two.qmd", "notes.rst", "plot.R"):
        (tmp_path / file).touch()
    found = [(one.file, one.message) for one in read_book(tmp_path).warnings]
    assert found == [
        ("notes.rst", ".rst files are not read: 1 left out"),
        ("one.qmd", ".qmd files are not read: 2 left out"),
    ]


def test_a_pattern_of_mystmd_lists_its_files(tmp_path: Path) -> None:
    toc = "[{file: a.md}, {title: Owls, children: [{pattern: 'b/**/*.md'}]}, {file: b/last.md}]"
    (tmp_path / "myst.yml").write_text(f"version: 1\nproject:\n  toc: {toc}\n")
    (tmp_path / "b/c").mkdir(parents=True)
    for file in ("a", "b/1", "b/last", "b/index", "b/c/2", "d"):
        (tmp_path / f"{file}.md").write_text("# Owls\n")
    book = read_book(tmp_path)
    files = ["a.md", "b/index.md", "b/1.md", "b/c/2.md", "b/last.md"]
    assert [page.file for page in book.documents] == files
    assert not book.warnings


def test_a_label_has_its_id_before_a_heading_does() -> None:
    """As docutils: the heading's own id is counted, whether the label names the heading or not."""
    raw = "```{raw} html\n<br>\n```\n\n"
    text = f"(owls)=\n{raw}# Owls\n\n(bats)=\n## Bats\n\n## Wings\n\n## Wings\n"
    page = read_text(text, site=Site.MYST)
    assert [block.anchor for block in page.blocks] == ["id1", "bats", "wings", "id3"]


def test_references_to_exercises_are_numbers(tmp_path: Path) -> None:
    (tmp_path / "_toc.yml").write_text("root: intro\nchapters:\n- file: owls\nnumbered: true\n")
    (tmp_path / "intro.md").write_text("# Birds\n\nSee {ref}`one`, {ref}`two`, {ref}`it <two>`.\n")
    first = "```{exercise-start}\n:label: one\n```\n\nHoot.\n\n```{exercise-end}\n```\n"
    second = "```{exercise} Night\n:label: two\nHoot.\n```\n"
    (tmp_path / "owls.md").write_text(f"# Owls\n\n{first}\n{second}")
    block = read_book(tmp_path).documents[0].blocks[1]
    assert block.text == "See Exercise 1.1, Exercise 1.2, it."


MDBOOK = """\
# Owls -- `--all` bats---wings

## `?`

## Wick {#oil}

Wick
: A string.

## Wick

## Oil

```python
~import
lamp()
```

```python,hidelines=##
##import
~lamp()
```
"""


@pytest.mark.parametrize(
    ("html", "anchors", "codes"),
    [
        (
            "",
            ["owls----all-batswings", "owls----all-batswings", "oil", "wick-1", "oil"],
            ["~import\nlamp()", "~lamp()"],
        ),
        (
            "smart-punctuation = false\ndefinition-lists = false\ncode.hidelines.python = '~'",
            ["owls------all-bats---wings", "owls------all-bats---wings", "oil", "wick", "oil"],
            ["lamp()", "~lamp()"],
        ),
    ],
)
def test_what_the_configuration_of_mdbook_switches_on(
    html: str, anchors: list[str], codes: list[str], tmp_path: Path
) -> None:
    (tmp_path / "book.toml").write_text(f"[output.html]\n{html}\n")
    (tmp_path / "SUMMARY.md").write_text("- [A](a.md)\n")
    (tmp_path / "a.md").write_text(MDBOOK)
    blocks = read_book(tmp_path).documents[0].blocks
    assert [block.anchor for block in blocks if block.kind is BlockKind.HEADING] == anchors
    assert [block.text for block in blocks if block.kind is BlockKind.CODE] == codes
    terms = [block.terms for block in blocks if block.kind is BlockKind.GLOSSARY_ENTRY]
    assert terms == ([] if html else [("Wick",)])


@pytest.mark.parametrize("toc", ["", "toc: [{file: a.md}, {pattern: '**/*.md'}]"])
def test_what_mystmd_excludes_is_no_page(toc: str, tmp_path: Path) -> None:
    exclude = "exclude: ['data/**', '*.{draft,old}.md']"
    (tmp_path / "myst.yml").write_text(f"version: 1\nproject:\n  {exclude}\n  {toc}\n")
    (tmp_path / "data/b").mkdir(parents=True)
    for file in ("a", "data/a", "data/b/c", "d.draft", "e"):
        (tmp_path / f"{file}.md").write_text("# Owls\n")
    book = read_book(tmp_path)
    found = [(page.file, page.url) for page in book.documents]
    assert found == [("a.md", "/"), ("e.md", "/e")]
    assert not book.orphans


REFERENCES = (
    "Use [`Lamp()`][lamps.Lamp], a [*lamp*][lamps.Lamp] or [lamps.Wick][]; `a`[0][i], b[i][j]."
)


@pytest.mark.parametrize(
    ("plugin", "text"),
    [
        ("mkdocstrings", "Use Lamp(), a lamp or lamps.Wick; a[0][i], b[i][j]."),
        ("autorefs", "Use Lamp(), a lamp or lamps.Wick; a[0][i], b[i][j]."),
        (
            "search",
            "Use [Lamp()][lamps.Lamp], a [lamp][lamps.Lamp] or [lamps.Wick][]; a[0][i], b[i][j].",
        ),
    ],
)
def test_references_to_documented_code_are_links(plugin: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "mkdocs.yml").write_text(f"plugins:\n- search\n- {plugin}: {{}}\n")
    (tmp_path / "docs/index.md").write_text(f"{REFERENCES}\n")
    [block] = read_book(tmp_path).blocks()
    assert block.text == text


def test_a_chapter_on_references_is_no_bibliography() -> None:
    prose = "A reference borrows a value.\n\nThe caller keeps it."
    works = "- [The Move paper](https://example.org/move-a-language-with-resources)"
    page = read_text(f"# References\n\n{prose}\n\n## Further Reading\n\n{works}\n")
    kinds = [block.kind for block in page.blocks if block.kind is not BlockKind.HEADING]
    assert kinds == [BlockKind.PARAGRAPH, BlockKind.PARAGRAPH, BlockKind.REFERENCE]


@pytest.mark.parametrize(
    ("extension", "shown"),
    [
        ("mdx_include: {base_path: code}", ["wick = 1", "trim(wick)\ndouse()", "Lamps burn oil."]),
        (
            "tables: {}",
            ["{!lamp.py[ln:1]!}", "{! lamp.py [ln:4,5] | utf-8 !}", "{!oil.md!}"],
        ),
    ],
)
def test_a_file_or_lines_of_it_are_included(
    extension: str, shown: list[str], tmp_path: Path
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "code").mkdir()
    (tmp_path / "mkdocs.yml").write_text(f"markdown_extensions:\n  {extension}\n")
    (tmp_path / "code/lamp.py").write_text("wick = 1\n\n\ntrim(wick)\ndouse()\n")
    (tmp_path / "code/oil.md").write_text("Lamps burn oil.\n")
    code = ("{!lamp.py[ln:1]!}", "{! lamp.py [ln:4,5] | utf-8 !}")
    fences = "".join(f"```python\n{line}\n```\n\n" for line in code)
    (tmp_path / "docs/index.md").write_text(f"{fences}{{!oil.md!}}\n")
    assert [block.text for block in read_book(tmp_path).blocks()] == shown


@pytest.mark.parametrize(
    "directive",
    ["{!URL!}", "{! URL [ln:1-3] !}", '--8<-- "URL:1:3"', "--8<--\nURL\n--8<--", "    {!URL!}"],
)
def test_an_include_of_a_url_is_reported_with_the_url(directive: str, tmp_path: Path) -> None:
    url = "https://lamps.example:80/a.md"
    (tmp_path / "docs").mkdir()
    (tmp_path / "mkdocs.yml").write_text("markdown_extensions:\n  mdx_include: {}\n")
    (tmp_path / "docs/index.md").write_text(f"# A\n\n{directive.replace('URL', url)}\n")
    (warning,) = read_book(tmp_path).warnings
    shown = f"docs/index.md:3: included text of another site is not fetched: {url}"
    assert str(warning) == shown


@pytest.mark.parametrize(
    ("info", "shown", "warning"),
    [
        ("file=./lamp.js", "a\nb\nc\nd", ""),
        ("title=x file=lamp.js#L2-L3", "b\nc", ""),
        ("file=lamp.js#L3-", "c\nd", ""),
        ("file=lamp.js#L2", "b", ""),
        ("file=lamp.js#L0-L1", "a", ""),
        ("file=<rootDir>/src/my\\ lamp.js", "e", ""),
        ("file=@site/src/my\\ lamp.js", "e", ""),
        (
            "file=../../x.js",
            "",
            "included file ../../x.js lies outside the book's folder: not read",
        ),
        ("file=no.js", "", "included file not found: no.js"),
        ("snippet=x", "", "empty code block: its text is not in the book's files: js snippet=x"),
        ("", "", ""),
    ],
)
def test_an_empty_code_block_of_docusaurus_shows_the_file_that_it_names(
    info: str, shown: str, warning: str, tmp_path: Path
) -> None:
    site = tmp_path / "site"
    for folder in ("docs", "src"):
        (site / folder).mkdir(parents=True)
    (site / "docusaurus.config.js").write_text("module.exports = {}\n")
    (tmp_path / "x.js").write_text("outside\n")
    (site / "docs/lamp.js").write_text("a\nb\nc\nd\n")
    (site / "src/my lamp.js").write_text("e\n")
    (site / "docs/index.md").write_text(f"Lamps.\n\n```js {info}\n```\n")
    book = read_book(site)
    assert [one.text for one in book.blocks()][1:] == ([shown] if shown else [])
    found = [(one.message, one.file, one.line) for one in book.warnings]
    assert found == ([(warning, "docs/index.md", 3)] if warning else [])


def test_code_that_docusaurus_fetches_from_another_site_is_reported(tmp_path: Path) -> None:
    url = "https://github.com/a/b/blob/main/c.js#L1"
    (tmp_path / "a.md").write_text(f"```js reference\n{url}\n```\n")
    (warning,) = read_book(tmp_path, site=Site.DOCUSAURUS).warnings
    assert str(warning) == f"a.md:1: code of another site is not fetched: {url}"


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("A [wick][^1] burns.", "A wick burns."),
        ("A [thread]\n[Wick] burns.", "A thread burns."),
        ("A [thread] [wick], [wick] [thread].", "A thread, wick [thread]."),
        ("- [ ] [wick]", "- ☐ wick"),
        ("A [thread][^1].", "A [thread]."),
    ],
)
def test_a_blank_or_a_note_may_follow_the_text_of_a_reference(source: str, text: str) -> None:
    page = f"{source}\n\n[wick]: https://example.org\n\n[^1]: A note.\n"
    assert read_text(page, site=Site.MKDOCS).blocks[0].text == text


@pytest.mark.parametrize(
    ("source", "text", "kind"),
    [
        ('![A &amp; b](../a/b c.jpg "A *title*"){: #c}', "A & b A *title*", BlockKind.FIGURE),
        ("![Lamp]( b c.jpg )", "Lamp", BlockKind.FIGURE),
        ("See ![lamp](not there).", "See ![lamp](not there).", BlockKind.PARAGRAPH),
        ("A ![lamp $2](a.png), then $3.", "A lamp $2, then $3.", BlockKind.PARAGRAPH),
    ],
)
def test_a_path_of_an_image_may_have_blanks(source: str, text: str, kind: BlockKind) -> None:
    [block] = read_text(source + "\n").blocks
    assert (block.text, block.kind) == (text, kind)


def main() -> None:
    for name in NAMES:
        lines = [
            json.dumps(line, ensure_ascii=False) for line in described(read_book(BOOKS / name))
        ]
        (BOOKS / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()


BRACKETED = r"""An index \(a_i\), and \[no formula\].

\[
a = b
- c
\]

Text
\[ d \]
"""


@pytest.mark.parametrize(
    ("extension", "texts"),
    [
        (
            "pymdownx.arithmatex",
            [
                r"An index \(a_i\), and [no formula].",
                "\\[\na = b\n- c\n\\]",
                "Text [ d ]",
            ],
        ),
        ("admonition", ["An index (a_i), and [no formula].", "[ a = b", "- c ]", "Text [ d ]"]),
    ],
)
def test_mkdocs_reads_formulas_in_brackets_with_the_extension(
    extension: str, texts: list[str], tmp_path: Path
) -> None:
    (tmp_path / "mkdocs.yml").write_text(f"site_name: A\nmarkdown_extensions: [{extension}]\n")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/index.md").write_text(BRACKETED)
    assert [block.text for block in read_book(tmp_path).blocks()] == texts


def test_a_theorem_is_one_block_with_its_title() -> None:
    source = "```{prf:theorem} Growth\n:label: growth\n\nIf so, then\n\n1. one\n2. two\n```\n"
    blocks = read_text(source, site=Site.MYST, file="page.md").blocks
    assert [(block.kind, block.title) for block in blocks] == [(BlockKind.ADMONITION, "Growth")]
    assert blocks[0].text == "Growth\n\nIf so, then\n\n1. one\n2. two"


@pytest.mark.parametrize(
    ("title", "kind"), [("Show Answer", BlockKind.SOLUTION), ("Task", BlockKind.EXERCISE)]
)
def test_a_question_block_may_hold_the_answer(title: str, kind: BlockKind) -> None:
    source = f'??? question "{title}"\n    It is **B**.\n'
    assert [one.kind for one in read_text(source, site=Site.MKDOCS).blocks] == [kind]


@pytest.mark.parametrize(
    ("parse", "shown"),
    [
        ("", "At ${d_t}_{t=0}^T $ and $ a*b*c $: one."),
        ("parse: {myst_enable_extensions: [amsmath]}", "At ${d_t}_^T $ and $ abc $: one."),
    ],
)
def test_formulas_of_jupyter_book_may_have_blanks_at_their_ends(
    parse: str, shown: str, tmp_path: Path
) -> None:
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: a\n")
    (tmp_path / "_config.yml").write_text(f"title: A\n{parse}\n")
    (tmp_path / "a.md").write_text("# A\n\nAt ${d_t}_{t=0}^T $ and $ a*b*c $: one.\n")
    assert [block.text for block in read_book(tmp_path).blocks()] == ["A", shown]


@pytest.mark.parametrize(
    ("heading", "kind"), [("1. Which owl?", BlockKind.EXERCISE), ("1. Owls", BlockKind.LIST)]
)
def test_choices_below_a_question_and_above_its_answer_are_an_exercise(
    heading: str, kind: BlockKind
) -> None:
    answer = '??? question "Show Answer"\n    It is **B**.\n'
    source = f"# Owls\n\n## {heading}\n\n1. The barn owl\n2. The eagle owl\n\n{answer}"
    blocks = read_text(source, site=Site.MKDOCS).blocks
    assert [one.kind for one in blocks[2:]] == [kind, BlockKind.SOLUTION]


def test_a_twoslash_listing_has_only_the_lines_that_its_page_shows() -> None:
    listing = """declare const lamp: Lamp;
// ---cut---
// @errors: 2540
// @strict
lamp.oil = 2;
//   ^?
lamp.trim();
// @log: trimmed
// ---cut-after---
lamp.fill();
"""
    text = f"```ts twoslash\n{listing}```\n\n```ts\n// @strict\nlamp.trim();\n```\n"
    page = read_text(text, site=Site.DOCUSAURUS)
    assert [block.text for block in page.blocks] == [
        "lamp.oil = 2;\nlamp.trim();\n// @log: trimmed",
        "// @strict\nlamp.trim();",
    ]


def test_escapes_in_the_path_of_an_import_are_resolved(tmp_path: Path) -> None:
    (tmp_path / "a.mdx").write_text("import Part from './\\_part.md';\n\n# A\n\n<Part />\n")
    (tmp_path / "_part.md").write_text("Imported.\n")
    book = read_book(tmp_path, site=Site.DOCUSAURUS)
    assert [block.text for block in book.documents[0].blocks] == ["A", "Imported."]
    assert not book.warnings


def test_links_that_name_one_definition_have_one_warning_at_its_line(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n\n[One][x] and [two][x].\n\n[x]: #gone\n")
    found = [(one.line, one.message) for one in read_book(tmp_path, site=Site.PLAIN).warnings]
    assert found == [(5, "link to an anchor that this page does not have: #gone")]
