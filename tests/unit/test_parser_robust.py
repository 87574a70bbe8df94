"""Whatever stands in a file: a result or one clear error, never a crash."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.document import Site
from app.domain.errors import BookError
from tests.attacking import examples
from tests.command_line import write_files
from tests.markdown_pages import assert_sound, read_folder, read_text

pytestmark = pytest.mark.attack

SNIPPETS = """\
# H|## T {#id}|### A[[b]]|para text|more `code` here|*em* and **bold** term|- item|1. one|2) two
> quote|```rust|```|~~~|````md|    indented|\ttab|| a | b ||---|---||| 1 | 2 ||---|***|===|<div>
</div>|<div data-type="exercise">|<div data-type="problem" markdown="1">|<div data-type="solution">
<Tip title="x">|</Tip>|<details>|<summary>Solution</summary>|</details>|<table><tr><td>a</td></tr>
</table>|<table>|<pre>|</pre>|<!-- c|-->|<!-- x -->|{/* c */}|{expr}|{unclosed|export const a = {
import X from "./y.mdx"|}|:::tip Title|:::|::::note|!!! note "T"|    body|??? warning|=== "Tab"
```{note} arg|:::{exercise}|:label: x|```{glossary}|term|  def|: def|~ def2|^|{: #x .y}
{: data-type="term"}|[^1]: foot|text[^1]|[link](u "t")|![alt](i "ti")|[ref][r]|[r]: http://x
$x^2$|$$|$$ y $$|\\begin{align}|\\end{align}|\\\\(a\\\\)|&amp; &lt; &#x41;|(label)=|% comm|+++
{{#include x.rs:a}}|{{#quiz q}}|--8<-- "f.md"|{% tag %}|{{< sc >}}|[TOC]|*[HTML]: Hyper|<a <b <c
<a b="|<Foo {...p} a={b => <c/>}>|<br/>|<img src="x" alt="pic">|a\\||  |\x00
\ufeff|ü中文🚀\u200fعربي
\r|\x0b\x0c|word word word|
<Question choices={[{text: "A", explain: "b \\"c\\""}]} />|</|<|>|{|`
``x|[|](|**|_|~~s~~|::|Exercise 1.1|## Exercises|## References|## Glossary|### Solution 2
*Figure 1: cap*|<figure>|<figcaption>cap</figcaption>|</figure>|<h2 id="q">Raw</h2>|<ul><li>a
</ul>|<dl><dt>t<dd>d</dl>|<math><mi>x</mi></math>|<script>
::: a.b|^^^|```{exercise-start}|```{exercise-end}|```{eval-rst}
.. note:: x|.. toctree::|   :maxdepth: 1|[](a/b.md)|<div data-type="title">|<figure markdown>
--8<--|- [x] done|![a](b){ width=3 }|```{code-cell}|:tags: [remove-cell]
{term}`foo bar`
{ref}`x <y>`"""
PIECES = [piece for line in SNIPPETS.splitlines() for piece in line.split("|")]

LINES = st.builds(
    lambda indents, pieces: "".join(indents) + " ".join(pieces),
    st.lists(st.sampled_from(["", "> ", "- ", "    ", "  ", "1. "]), max_size=2),
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=3),
)
TEXTS = st.builds(
    lambda end, lines: end.join(lines),
    st.sampled_from(["\n", "\n\n", "\r\n"]),
    st.lists(LINES, min_size=1, max_size=12),
)


def check(text: str, site: Site) -> None:
    file = "page.mdx" if site is Site.DOCUSAURUS else "page.md"
    with suppress(BookError):
        assert_sound(read_text(text, site=site, file=file))


@pytest.mark.parametrize("site", list(Site))
@settings(max_examples=examples(60))
@given(text=TEXTS)
def test_any_mixture_of_markup_is_read_whole(site: Site, text: str) -> None:
    check(text, site)


@pytest.mark.parametrize("site", list(Site))
@settings(max_examples=examples(30))
@given(text=st.text(max_size=200))
def test_any_text_is_read_whole(site: Site, text: str) -> None:
    check(text.encode("utf-8", "replace").decode(), site)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_are_counted_as_they_are(end: str) -> None:
    source = end.join(["# Title", "", "First *line*", "second line.", "", "```py", "x = 1", "```"])
    page = read_text(source)
    assert [block.text for block in page.blocks] == ["Title", "First line second line.", "x = 1"]
    written = [source[block.start : block.end] for block in page.blocks]
    assert written[1] == f"First *line*{end}second line."
    assert written[2].endswith("```")


def test_a_byte_order_mark_counts_as_one_character() -> None:
    page = read_text("\ufeff---\ntitle: T\n---\n\n# Head\n")
    assert page.title == "Head"
    assert page.source[page.blocks[0].start :] == "# Head\n"
    page = read_text("\ufeff# Head\n")
    assert [(one.text, one.start) for one in page.blocks] == [("Head", 1)]


@pytest.mark.parametrize(
    ("file", "data", "message"),
    [
        ("page.md", b"# A\n\nbad \xff byte\n", "page.md:3: not UTF-8 (byte 0xff)"),
        ("SUMMARY.md", b"- [A](\xfe)\n", "SUMMARY.md:1: not UTF-8 (byte 0xfe)"),
        ("page.md", b"# A\n\n" + b">" * 1_000, "page.md:3: nested over 100 levels deep: nest less"),
        ("book.toml", b"[book\n", "book.toml"),
        ("mkdocs.yml", b"nav: [\n", "mkdocs.yml:2: is not YAML"),
        ("_toc.yml", b"root: [\n", "_toc.yml:2: is not YAML"),
        ("notes.txt", b"no Markdown here", "no text found"),
    ],
)
def test_what_cannot_be_read_is_one_line_with_file_and_line(
    file: str, data: bytes, message: str, tmp_path: Path
) -> None:
    with pytest.raises(BookError) as error:
        read_folder(write_files(tmp_path, {file: data}))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_files_that_include_each_other_are_refused(tmp_path: Path) -> None:
    files = {"SUMMARY.md": b"- [A](a.md)\n", "a.md": b"{{#include a.md}}\n" * 2 + b"x" * 900_000}
    folder = write_files(tmp_path, {f"src/{name}": data for name, data in files.items()})
    with pytest.raises(BookError, match=r"^src/a\.md: the file has .* more than the limit"):
        read_folder(folder, site=Site.MDBOOK)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(BookError, match=r"no such file or folder: give .*https://"):
        read_folder(tmp_path / "nowhere")


def test_a_single_file_that_is_no_page_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_text("Some text.")
    with pytest.raises(BookError, match="not a page: give Markdown"):
        read_folder(tmp_path / "a.pdf")
