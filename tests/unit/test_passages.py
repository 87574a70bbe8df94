"""The passages of an offline answer: whole blocks, how they grow, what is marked in them."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.answer import AnswerPassage
from app.domain.answering.passages import MAX_ANSWER_WORDS, MAX_BLOCK_WORDS, MAX_PASSAGES
from app.domain.chunking.chunk import Passage
from app.domain.document import BlockKind
from app.domain.scripts import word_count
from tests.fake_world import extracted, passage

FILLER = "Other things are told of here, which nobody has asked about at all so far. " * 5


def in_section(text: str, name: str, kind: BlockKind = BlockKind.PARAGRAPH) -> Passage:
    return passage(text, f"p-{name}", kind, heading_path=("Book", name))


def marked(one: AnswerPassage) -> list[str]:
    return [one.text[start:end] for start, end in one.marks]


def test_a_passage_is_a_whole_paragraph_with_its_best_sentence_marked() -> None:
    text = "Owls fly at night. The mitochondrion makes ATP from sugar. It is small."
    found = extracted("What makes ATP from sugar?", in_section(text, "cell"))
    (shown,) = found.passages
    assert shown.text == text
    assert marked(shown) == ["The mitochondrion makes ATP from sugar."]
    assert found.text == text


def test_a_listing_is_shown_in_a_fence_with_the_paragraph_that_leads_in_to_it() -> None:
    lead = passage("The tokens are sorted like this:", "p-lead")
    code = passage("tokens.sort()", "p-code", BlockKind.CODE, language="python")
    (shown,) = extracted("sort the tokens with code", lead, code).passages
    assert shown.text == f"{lead.text}\n\n```python\ntokens.sort()\n```"
    assert shown.paragraph_ids == ("p-lead", "p-code")


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("How do we sort long tokens of owls?", "p-prose"),
        ("Show code to sort long tokens", "p-code"),
    ],
)
def test_a_listing_comes_first_only_if_the_question_asks_for_code(
    question: str, first: str
) -> None:
    code = in_section("owls.sort(tokens, long)", "code", BlockKind.CODE)
    text = "We sort long tokens when the file is written, so that it is done once, in the evening."
    prose = in_section(text, "prose")
    assert extracted(question, code, prose).passages[0].paragraph_ids[0] == first


def test_a_passage_that_grows_up_to_another_one_is_shown_with_it() -> None:
    before = passage("The mitochondrion makes ATP from food.", "p-1")
    between = passage("Yeast makes ATP from sugar.", "p-2")
    best = passage(f"The mitochondrion makes ATP from sugar. {FILLER}".strip(), "p-3")
    question = "How does the mitochondrion make ATP from sugar?"
    (shown,) = extracted(question, before, between, best).passages
    assert shown.paragraph_ids == ("p-1", "p-2", "p-3")
    assert marked(shown)[-1] == "The mitochondrion makes ATP from sugar."


def test_a_short_paragraph_between_two_that_are_shown_joins_them() -> None:
    told = [passage(f"The owl hunts {prey}.", f"p-{prey}") for prey in ("mice", "frogs")]
    for between, count in (("It is not seen at all then.", 1), (FILLER, 2)):
        found = extracted("owl", told[0], passage(between, "p-between"), told[1])
        assert len(found.passages) == count
        assert (between in found.text) == (count == 1)


def test_what_is_shown_already_is_not_shown_again() -> None:
    said = "The socket of the chat lives in a middleware, since that sees each action."
    first = in_section(f"{said} It is opened once.", "first")
    again = in_section(said, "again")
    other = in_section("A chat has a socket for each reader and room.", "other")
    found = extracted("Where does the socket of the chat live?", first, again, other)
    assert [one.text for one in found.passages] == [first.text, other.text]


def test_a_sentence_is_not_shown_without_what_it_announces() -> None:
    told = in_section("Tokens are sorted by their bytes.", "told")
    alone = in_section("The tokens are sorted by this code:", "alone")
    ending = in_section("Here we sort the tokens. The tokens are sorted by this code:", "ending")
    found = extracted("How are the tokens sorted by code?", alone, ending, told)
    assert {one.text for one in found.passages} == {told.text, "Here we sort the tokens. \u2026"}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Owls at night", BlockKind.PARAGRAPH),
        ("owls", BlockKind.QUOTE),
        ("Watch this video to see the owls of the night.", BlockKind.ADMONITION),
        ("Visite el sitio de los owls del night.", BlockKind.PARAGRAPH),
        ("See the notes on owls for details of the night.", BlockKind.PARAGRAPH),
        ("For owls of the night, see the third part.", BlockKind.PARAGRAPH),
        ("Links\n\nQR Code Watch the owls of the night.", BlockKind.ADMONITION),
    ],
)
def test_a_paragraph_that_tells_nothing_is_shown_only_if_there_is_no_other(
    text: str, kind: BlockKind
) -> None:
    nothing, told = in_section(text, "nothing", kind), in_section("Mice fear owls.", "told")
    (shown,) = extracted("owls of the night", nothing, told).passages
    assert shown.text == told.text
    (shown,) = extracted("owls of the night", nothing).passages
    assert shown.text == text


def test_a_sentence_that_tells_what_to_see_to_is_shown() -> None:
    told, other = in_section("To find owls at night, see if mice hide.", "told"), passage("Owls.")
    assert extracted("owls at night", other, told).passages[0].text == told.text


def test_of_a_long_lead_in_the_last_sentence_is_shown_unless_it_answers_itself() -> None:
    lead = passage(f"{FILLER}The tokens are sorted like this:", "p-lead")
    listed = passage("- by their bytes\n- by their length", "p-list", BlockKind.LIST)
    (shown,) = extracted("by their bytes or length?", lead, listed).passages
    assert shown.text == f"\u2026 The tokens are sorted like this:\n\n{listed.text}"
    short = passage("Tokens are many. They are sorted like this:", "p-short")
    (shown,) = extracted("by their bytes or length?", short, listed).passages
    assert shown.text == f"{short.text}\n\n{listed.text}"
    (shown,) = extracted("tokens sorted by bytes", lead, listed).passages
    assert shown.text.startswith("Other things")


def test_a_long_paragraph_is_shortened_to_the_words_that_are_left() -> None:
    told = [in_section(f"The owl {at} hunts mice. {FILLER}{FILLER}", str(at)) for at in range(3)]
    first, second = extracted("owl", *told).passages
    assert MAX_BLOCK_WORDS // 2 < word_count(second.text) < word_count(first.text)


def test_a_sentence_that_a_listing_completes_is_shown_with_it() -> None:
    told = passage("Owls hoot. The form of a hoot is", "p-told")
    code = passage("(hoot times)", "p-code", BlockKind.CODE)
    (shown,) = extracted("What is the form of a hoot?", told, code).passages
    assert shown.paragraph_ids == ("p-told", "p-code")


def test_the_rest_of_a_sentence_after_a_block_is_shown_with_all_of_it() -> None:
    begun = passage("Hunting is described by the law", "p-begun")
    law = passage("h = m / n", "p-law", BlockKind.MATH)
    rest = passage("in which each owl has mice.", "p-rest")
    (shown,) = extracted("Which mice has each owl?", begun, law, rest).passages
    assert shown.paragraph_ids == ("p-begun", "p-law", "p-rest")


def test_a_sentence_with_formulas_that_are_paragraphs_is_shown_whole() -> None:
    texts = "The pull of an owl is $m$", "times $g$", ", where each mouse has $m$", "grams."
    told = [passage(text, f"p-{at}") for at, text in enumerate(texts)]
    (shown,) = extracted("What has each mouse?", *told).passages
    assert shown.paragraph_ids == ("p-0", "p-1", "p-2", "p-3")


def test_a_title_above_a_table_is_shown_with_it() -> None:
    title = passage("Weights of owls (in grams)", "p-title")
    table = passage("Owl | Grams\nbarn | 300", "p-table", BlockKind.TABLE)
    for question in ("weights of owls", "grams of the barn owl"):
        (shown,) = extracted(question, title, table).passages
        assert shown.paragraph_ids == ("p-title", "p-table")


def test_the_limit_of_words_holds_in_a_script_without_blanks() -> None:
    def told(owl: int) -> str:
        hours = range(10)
        return "".join(f"フクロウ{owl}番は夜の{hour}時にネズミを静かに狩ります。" for hour in hours)

    far = [in_section(told(owl), str(owl)) for owl in range(3)]
    found = extracted("フクロウ", *far)
    assert sum(word_count(one.text) for one in found.passages) <= MAX_ANSWER_WORDS
    near = [passage(told(owl), f"p-{owl}") for owl in range(3)]
    assert len(extracted("フクロウ", *near).passages[0].paragraph_ids) < len(near)


def test_of_a_list_each_item_that_answers_is_marked() -> None:
    items = [f"- `{bird}`: it {'flies far over land and sea ' * 3}" for bird in ("owl", "jay")]
    others = [f"- bird {at}: it {'sits on trees and roofs of towns ' * 2}" for at in range(3)]
    listed = passage("\n".join([items[0], *others, items[1]]), "p-list", BlockKind.LIST)
    (shown,) = extracted("What do the owl and the jay do?", listed).passages
    assert [text.split(":")[0] for text in marked(shown)] == ["`owl`", "`jay`"]


def test_an_entry_of_the_glossary_stands_alone() -> None:
    entries = [
        passage(f"{term} : a thing", f"p-{term}", BlockKind.GLOSSARY_ENTRY, terms=(term,))
        for term in ("ovule", "owl")
    ]
    (shown,) = extracted("What is an owl?", *entries).passages
    assert shown.text == "owl : a thing"


def test_links_lead_to_the_first_marked_paragraph() -> None:
    lead = passage("Sorting is described here.", "p-lead")
    told = passage("The tokens are sorted by their bytes.", "p-told")
    (shown,) = extracted("How are the tokens sorted by bytes?", lead, told).passages
    assert (shown.url, shown.permalink) == (told.url, "/cite/p-told?book=book")


_KINDS = st.sampled_from([BlockKind.PARAGRAPH, BlockKind.LIST, BlockKind.CODE])
_BLOCKS = st.tuples(st.integers(1, 150), _KINDS, st.integers(0, 2))


@given(st.lists(_BLOCKS, min_size=1, max_size=12))
def test_passages_are_few_short_and_marked_where_the_answer_is(
    blocks: list[tuple[int, BlockKind, int]],
) -> None:
    listed = []
    for at, (size, kind, section) in enumerate(blocks):
        text = "- " * (kind is BlockKind.LIST) + f"owl number {at} hunts {'mice ' * size}"
        listed.append(passage(text, f"p-{at}", kind, heading_path=("Book", str(section))))
    found = extracted("Which owl hunts mice?", *listed)
    assert 1 <= len(found.passages) <= MAX_PASSAGES
    assert found.passages[0].marks
    words = [len(one.text.split()) for one in found.passages]
    assert sum(words) <= MAX_ANSWER_WORDS + 2 * len(listed) or len(found.passages) == 1
    assert found.text == "\n\n".join(one.text for one in found.passages)


def test_a_list_of_links_is_never_shown() -> None:
    """Its source has the targets of its links as well: three times its text."""
    text = "- How owls hunt mice\n- Where owls hunt mice"
    listed, plain = (passage(text, "p-links", k) for k in (BlockKind.LIST, BlockKind.PARAGRAPH))
    links = replace(listed, end=listed.start + 3 * len(text))
    told = passage("Owls hunt.", "p-told")
    (shown,) = extracted("How do owls hunt mice?", told, links).passages
    assert shown.text == told.text
    assert extracted("How do owls hunt mice?", plain).passages


def test_a_question_at_the_end_of_a_paragraph_is_shown_with_the_next_one_or_not_at_all() -> None:
    asking = passage("Owls hunt mice at night. How do owls find mice in the dark?", "p-asking")
    reply = passage("Their ears hear each step.", "p-reply")
    (shown,) = extracted("How do owls find mice at night?", asking, reply).passages
    assert shown.paragraph_ids == ("p-asking", "p-reply")
    told = in_section("Owls hunt mice by their ears.", "told")
    found = extracted("How do owls find mice at night?", asking, told)
    assert found.passages[0].text == "Owls hunt mice at night. \u2026"


def test_a_caption_is_shown_beside_a_text_but_not_alone() -> None:
    caption = passage("QR Code representing a URL", "p-figure", BlockKind.FIGURE)
    text = passage("The camera reads a code of squares.", "p-text")
    assert extracted("What is a QR code?", caption).passages == ()
    assert [one.text for one in extracted("What is a QR code?", text, caption).passages]


def test_a_sentence_that_the_reader_has_selected_is_not_marked_as_the_answer() -> None:
    selected = "Queues are first in, first out."
    told = passage(f"{selected} A queue in a shop shows why.", "p-queue")
    (shown,) = extracted("Why are queues first in, first out?", told, read=selected).passages
    assert marked(shown) == ["A queue in a shop shows why."]
    (alone,) = extracted("Why are queues first in, first out?", told, read=told.text).passages
    assert marked(alone) == [selected]


LEAD_IN = passage("By the end of this section, you will be able to:", "p-1")
OBJECTIVES = passage("- Define osmosis\n- Explain its role", "p-2", BlockKind.LIST)
ANSWER = passage("Osmosis is the movement of water through a membrane.", "p-3")


def test_what_a_reader_will_learn_is_no_answer_unless_it_is_asked_for() -> None:
    found = extracted("Explain the role of osmosis", LEAD_IN, OBJECTIVES, ANSWER)
    assert [one.paragraph_ids for one in found.passages] == [("p-3",)]
    asked = extracted("What will I learn about osmosis?", LEAD_IN, OBJECTIVES, ANSWER)
    assert any("p-2" in one.paragraph_ids for one in asked.passages)


@pytest.mark.parametrize(
    ("text", "kind", "heading", "shown"),
    [
        ("- osmosis\n- membranes", BlockKind.LIST, "Learning Objectives", False),
        ("- osmosis\n- membranes", BlockKind.LIST, "Chapter learning objectives", False),
        ("- osmosis\n- membranes", BlockKind.LIST, "Kinds", True),
        ("listings/osmosis/src/main.rs", BlockKind.CODE, "Kinds", False),
        ("What You'll Learn\n\n- What osmosis is", BlockKind.ADMONITION, "Kinds", False),
        ("Chapter Objectives\n\n- What osmosis is", BlockKind.ADMONITION, "Kinds", False),
        ("Osmosis was hard. You will learn why.", BlockKind.PARAGRAPH, "Kinds", True),
    ],
)
def test_objectives_and_names_of_files_are_not_shown(
    text: str, kind: BlockKind, heading: str, *, shown: bool
) -> None:
    found = extracted("osmosis", passage(text, "p-1", kind, heading_path=("Life", heading)))
    assert bool(found.passages) is shown
