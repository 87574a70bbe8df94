"""No answer leads anywhere, whatever is written and however it is cut.

The answer is cut into units by the splitter, and each unit goes through the policy.

`attacks/answers.jsonl` has a line for each attack: what is written, and what is shown;
`attacks/ordinary.jsonl` has answers that are shown as written. A
Markdown parser judges what a reader's page would make of what is shown.
"""

from collections.abc import Collection, Iterator, Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from app.adapters.sentences import split_sentences
from app.domain.characters import without_invisible
from app.domain.generated_text.link_policy import LinkPolicy
from app.domain.generated_text.splitter import Splitter
from tests.attacking import table

pytestmark = pytest.mark.attack

ADDRESS = "https://book.example/page#p-1"
BOOK_TEXT = "Ask http://localhost:8000/docs. The site is https://text.example/x."


_RENDERERS = (
    MarkdownIt("commonmark", {"html": True}),
    MarkdownIt("gfm-like", {"html": True, "linkify": True}),
)


def live_parts(text: str) -> list[str]:
    """Whatever would lead elsewhere, load or be HTML by CommonMark or as GitHub reads it.

    A bare name that some renderers link, `main.rs`, is not of the answer's making.
    """
    return [part for renderer in _RENDERERS for part in _live(renderer, text)]


def _live(renderer: MarkdownIt, text: str) -> Iterator[str]:
    environment: dict[str, object] = {}
    for token in _all(renderer.parse(text, environment)):
        if token.type in {"html_block", "html_inline", "image"}:
            yield f"{token.type}: {token.content}"
        elif token.type == "link_open":
            url = str(token.attrs["href"])
            if not _is_bare_name(token, url):
                yield f"link: {url}"
    if environment.get("references"):
        yield f"definitions: {environment['references']}"


def _is_bare_name(token: Token, url: str) -> bool:
    name = url.removeprefix("http://")
    return token.markup == "linkify" and name != url and not name.lower().startswith("www.")


def _all(tokens: Collection[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from _all(token.children or ())


ATTACKS, ORDINARY = table("answers"), table("ordinary")


def name(case: dict[str, str]) -> str:
    return case["name"]


def shown(pieces: Sequence[str]) -> str:
    policy, splitter = LinkPolicy(BOOK_TEXT), Splitter(split_sentences, "en")
    units = [unit for piece in pieces for unit in splitter.feed(piece)]
    units += splitter.feed("", final=True)
    assert "".join(unit.text for unit in units) == "".join(pieces)
    return "".join(policy.shown(without_invisible(one.text), fence=one.fence) for one in units)


@pytest.mark.parametrize("attack", ATTACKS, ids=name)
def test_attack_is_shown_without_its_link_however_it_is_cut(attack: dict[str, str]) -> None:
    assert shown([attack["text"]]) == attack["shown"]
    assert shown(attack["text"]) == attack["shown"]
    for cut in range(len(attack["text"])):
        pieces = attack["text"][:cut], attack["text"][cut:]
        assert shown(pieces) == attack["shown"]
    assert live_parts(attack["shown"]) == []


@pytest.mark.long
@pytest.mark.parametrize("attack", ATTACKS, ids=name)
@pytest.mark.parametrize("between", ["", "\n", "\n\n"], ids=["joined", "line", "paragraph"])
def test_two_attacks_one_after_the_other_lead_nowhere(attack: dict[str, str], between: str) -> None:
    for other in ATTACKS:
        text = attack["text"] + between + other["text"]
        result = shown([text])
        assert shown(text) == result, text
        assert live_parts(result) == [], text


def test_without_the_policy_the_attacks_would_lead_elsewhere() -> None:
    live = [one for one in ATTACKS if live_parts(one["text"])]
    assert len(live) > 60


@pytest.mark.parametrize("answer", ORDINARY, ids=name)
def test_ordinary_answer_is_shown_as_it_is_written(answer: dict[str, str]) -> None:
    assert answer["shown"] == answer["text"]
    assert shown([answer["text"]]) == answer["text"]
    assert shown(answer["text"]) == answer["text"]
    assert live_parts(answer["text"]) == []


def test_address_that_the_books_text_has_is_shown_as_code() -> None:
    written = (
        "Ask http://localhost:8000/docs, not http://localhost:8000/other or https://text.example"
    )
    assert shown([written]) == (
        "Ask `http://localhost:8000/docs`, not (link removed) or (link removed)"
    )


_PIECES = [
    *"[]()<>`~!:&\\@|*_#-=\"' \n\t",
    *("![", "](", "]:", "](//e.vil)", "](https://evil.example)", f"]({ADDRESS})", ADDRESS, "</"),
    *("<b>", "<img src=x>", "<div", "<!--", "<https://evil.example>", f"<{ADDRESS}>", "href=x>"),
    *("``", "```", "````", "~~~", "\n\n", "  ", "    ", "- ", "1. ", "2. ", "> ", "# ", "---"),
    *("| ", "\n|---|---|\n", "&#58;", "&colon;", "&lt;", "&#x2f;", "https:", "//", "www.", "a"),
    *(".evil.example", "@evil.example", "mailto:", "[a]: ", "[a]", "script", "b1", "\u200b"),
    *("\u200d", "é", ". ", "! B", "\u3002", " Yy ", "Owls hunt. ", "[1]"),
]


@given(st.lists(st.sampled_from(_PIECES), max_size=24))
@example(["<", "[a](//e.vil)", "b>"])
def test_whatever_is_written_leads_nowhere_and_cuts_change_nothing(pieces: list[str]) -> None:
    text = "".join(pieces)
    result = shown([text])
    assert shown(pieces) == result
    assert shown(text) == result
    assert live_parts(result) == []


_LINES = [
    *("```", "```py", "~~~", "`````", "``` `", "<b>", "[x](//e.vil)", "text", "`<b>`", "` <b>"),
    *("---", "===", "- - -", "|---|", "| `a | b` | `<b>` |", "", "-", "1.", "[a", "b]: x"),
    *("`` <b> `", "<div"),
]
_MARGINS = [
    *("", " ", "   ", "    ", "      ", "\t", "- ", "-   ", "-     ", "1. ", "2. ", "10. "),
    *("> ", ">", "  > ", "> - ", "- > ", "  - ", "    - ", "# ", "| "),
]


@given(
    st.lists(
        st.tuples(*map(st.sampled_from, (_MARGINS, _MARGINS, _LINES))).map("".join), max_size=9
    ).map("\n".join)
)
def test_no_arrangement_of_lists_quotes_and_fences_lets_html_out(text: str) -> None:
    result = shown([text])
    assert shown(text) == result
    assert live_parts(result) == []


def _tags(text: str) -> str:
    return "".join(chr(0xE0000 + ord(character)) for character in text)


ENGLAND = "\U0001f3f4" + _tags("gbeng\x7f")


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("a\u200bb\u2060c\ufeffd\u00ade\U000e0041f\x00g\x1bh\x9fi", "abcdefghi"),
        ("\u202eabc\u202c \u2066d\u2069", "abc d"),
        ("a\u200db \u200c c", "ab  c"),
        ("\u0645\u06cc\u200c\u062e \u0915\u094d\u200d\u0937 \U0001f469\u200d\U0001f467", None),
        ("\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u200f!", None),
        ("a\tb\r\nc", "a\tb\nc"),
        # Tag characters stay in a flag only.
        (f"a {ENGLAND} b", None),
        (f"a {_tags('stray')} b{_tags(chr(0x7F))}", "a  b"),
        ("\U0001f3f4" + _tags("gbeng") + " b", "\U0001f3f4 b"),
        ("\U0001f3f4" + _tags("gbeng"), "\U0001f3f4"),
        ("\U0001f3f4" + _tags("toolong\x7f"), "\U0001f3f4"),
        ("\U0001f642" + _tags("gbeng\x7f"), "\U0001f642"),
        (ENGLAND + _tags("ignore\x7f") + ENGLAND, ENGLAND * 2),
    ],
)
def test_what_a_reader_cannot_see_is_taken_out(text: str, seen: str | None) -> None:
    assert without_invisible(text) == (text if seen is None else seen)
