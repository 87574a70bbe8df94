"""Running text is read as markdown-it reads it, whichever shortcut is taken."""

from __future__ import annotations

import re
from collections.abc import MutableMapping
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt, helpers
from markdown_it.parser_inline import ParserInline
from markdown_it.utils import EnvType

from app.adapters.markdown.docusaurus import syntax as docusaurus
from app.adapters.markdown.mdbook import syntax as mdbook
from app.adapters.markdown.mkdocs import syntax as mkdocs
from app.adapters.markdown.myst import syntax as myst
from app.adapters.markdown.parser.dialect import Dialect
from app.adapters.markdown.parser.file_reader import inline_reader
from app.adapters.markdown.parser.inline import InlineReader, render
from app.adapters.markdown.parser.inline_dispatch import DispatchingInline, LinkHelpers
from app.adapters.markdown.parser.quick_inline import QuickInline
from app.adapters.markdown.parser.running_text import Text
from app.adapters.markdown.plain import site as plain

DIALECTS = {
    "docusaurus": docusaurus.DIALECT,
    "mdbook": mdbook.DIALECT,
    "mkdocs": mkdocs.DIALECT,
    "myst": myst.DIALECT,
    "plain": plain.DIALECT,
}
REFERENCES = {"KNOWN": {"href": "https://example.org/known", "title": ""}}
SNIPPETS = (
    "word", "two words", " ", " ", "\n", " \n", "*", "**", "***", "_", "__", "`", "``", "`a * b`",
    "`` x` ``", "[", "]", "[known]", "[text][known]", "[text][]", "[other][gone]", "[[x]](y)",
    "[a *b*](c)", '![a](b c.png "T &gt;")',
    '[`f`](g "title &amp; more")', "](", ")", "(", "![", '![an *alt*](b.png "T &gt;")',
    "\\", "\\*", "\\[x\\]", "\\\\(", "\\n", "&amp;", "&nbsp;", "&#x2019;", "&#0;", "&", ";", "~",
    "~~", "~~gone~~", "<b>", "</b>", "<br/>", "<dfn>", "</dfn>", '<img alt="x y" title="z">',
    "<https://a.example>", "<a@b.example>", "<", ">", "<!-- note -->", "<!--@x-->", "<math>",
    "</math>", "<u>", "{", "}", '{: data-type="term"}', "{#an-id}", "{.c}", "{role}`x`", "{x}",
    "{/* a note */}", "{/*",
    "$", "$x$", "$5", "!", ".", ",", ":", "\u201d", "\u2014", "\u00e9", "\u4e2d", "\u00a0", "\t",
)  # fmt: skip


def text_by_markdown_it(reader: InlineReader, content: str, dialect: Dialect) -> Text:
    env: EnvType = {"references": REFERENCES, "footnotes": ()}
    return render(reader.parse(content, env), dialect.marked_terms)


def squeezed(text: Text) -> Text:
    """Neither an id nor a link's quote depends on how many blanks there are."""
    id_text, runs = (re.sub(r"[ \t\n]+", " ", part) for part in (text.id_text, text.runs))
    return replace(text, text=text.text.strip(), id_text=id_text, runs=runs)


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(SNIPPETS), min_size=1, max_size=9).map("".join))
@example("**bold**, *stressed* and `code` in [a [nested] link](target)")
@example('![x](y.png "&amp;amp;"){: #fig}')
def test_the_quick_reader_answers_as_markdown_it_or_not_at_all(
    dialect: Dialect, content: str
) -> None:
    """What a reader sees, an id, the runs, terms and links: all alike."""
    content = content.strip()
    if "  \n" in content:
        return
    quick = QuickInline(dialect).read(content, REFERENCES)
    if quick is not None:
        expected = text_by_markdown_it(inline_reader(dialect), content, dialect)
        assert quick.finish(dialect.marked_terms) == expected


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(SNIPPETS), min_size=1, max_size=9).map("".join))
@example("two\n*lines* and\n`code\nthat goes on`")
@example("**bold**, *stressed* and `code` in [a [nested] link](target)")
def test_running_text_is_read_as_markdown_it_reads_it(dialect: Dialect, content: str) -> None:
    """Whichever way is taken: text without mark-up, code alone, one pass, or markdown-it itself."""
    content = content.replace(
        "\u00a0", ""
    ).strip()  # a blank like any other where nothing is marked
    reader = inline_reader(dialect)
    env: EnvType = {"references": REFERENCES, "footnotes": ()}
    if content and "[](" not in content:  # MyST names the target there
        expected = text_by_markdown_it(reader, content, dialect)
        assert squeezed(reader.read(content, env)) == squeezed(expected)


def inline_tokens(
    parser: ParserInline, helpers: object, content: str
) -> list[MutableMapping[str, object]]:
    md = MarkdownIt("commonmark")
    md.inline = parser
    md.helpers = helpers  # type: ignore[assignment]  # used by attribute, as the module is
    parser.ruler.disable("linkify")
    if isinstance(parser, DispatchingInline):
        parser.prepare()
    env: EnvType = {"references": REFERENCES, "steps": 10_000, "file": "page.md"}
    return [token.as_dict() for token in md.parseInline(content, env)]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(SNIPPETS), min_size=1, max_size=9).map("".join))
@example("[a](<b c> 'title') ![x][known] <https://a.example> `code` **bold *both***")
def test_rules_asked_by_first_character_make_the_same_tokens(content: str) -> None:
    expected = inline_tokens(ParserInline(), helpers, content)
    assert inline_tokens(DispatchingInline(), LinkHelpers(), content) == expected


@pytest.mark.parametrize(
    "content",
    [
        '**Cells**{: data-type="term"} are small (see [\\[link\\]](#fig-1)).',
        "A *word*, `code`, a [link](https://example.org) and a snake_case name.",
        '![Two cells](cells.png "Cells &#x2013; two"){: #fig-1}',
        "The [book][known] says so.<!-- ignore -->",
    ],
)
def test_what_books_usually_write_is_read_in_one_pass(content: str) -> None:
    """Common mark-up needs no markdown-it: the quick path is really taken."""
    assert QuickInline(plain.DIALECT).read(content, REFERENCES) is not None
