"""Citations verified, and sentences without one attributed, to the paragraph that says the same."""

from collections.abc import Sequence

import pytest

from app.adapters.sentences import split_sentences
from app.domain.answer import CitationFound, TextDelta
from app.domain.answering.citations import CitationList
from app.domain.answering.cited_answer import CitedAnswerBuilder
from app.domain.answering.units import Unit
from app.domain.answering.verification import Verifier, by_paragraph
from app.domain.chunking.chunk import Passage
from app.domain.document import BlockKind
from app.domain.generated_text.model_text import GeneratedCitation, GeneratedText
from app.domain.terms import names, numbers, words
from tests.fake_world import context_of, in_order, passage, terms
from tests.recorded_cases import case_lines

EYES = passage(
    "The barn owl hunts at night. Its eyes hold 2,500 rods, as Martin counted in Berlin. "
    "They cannot turn, so the bird turns its head by 270 degrees.",
    "p-eyes",
    heading_path=("Owls", "Vision"),
)
MOUSE = passage("The mouse hides in the barn by day.", "p-mouse")
LEAVES = passage(
    "Leaves are the main sites for photosynthesis: the process by which plants synthesize food. "
    "Most leaves are usually green, due to the presence of chlorophyll in the leaf cells.",
    "p-leaves",
    heading_path=("Plants", "Leaves"),
)
VEINS = passage(
    "The arrangement of veins in a leaf is called the venation pattern. Monocots have parallel "
    "venation; dicots have a net-like arrangement of veins. Some 250,000 plants have flowers.",
    "p-veins",
    heading_path=("Plants", "Leaves"),
)
STEMS = passage(
    "The stem of a plant connects the roots to the leaves, helping to transport absorbed water. "
    "It also helps to transport the products of photosynthesis, namely sugars, from the leaves.",
    "p-stems",
    heading_path=("Plants", "Stems"),
)
PLANTS = (LEAVES, VEINS, STEMS)
SAID = "Leaves are the main site of photosynthesis."
FABLE = "Parrots collect stamps."


def verifier(*passages: Passage, question: str = "", translated: bool = False) -> Verifier:
    context = context_of(*in_order(*passages))
    return Verifier(
        by_paragraph(context),
        terms,
        split_sentences,
        frozenset(words(question)),
        translated=translated,
    )


def quoted(checked: Verifier, claim: str, paragraph_id: str = "p-eyes", around: str = "") -> str:
    """Return the quote that bears the claim; "" if the paragraph does not."""
    found = checked.verify(claim, paragraph_id, around)
    return found.text if found else ""


@pytest.mark.parametrize(("claim", "quote"), [*case_lines("supporting_quotes"), ("", "")])
def test_quote_is_the_shortest_run_of_sentences_that_bears_the_claim(
    claim: str, quote: str
) -> None:
    assert quoted(verifier(EYES), claim) == quote


@pytest.mark.parametrize("paragraph_id", ["p-other", "p-mouse"])
def test_a_paragraph_of_another_context_or_that_shares_a_word_is_no_source(
    paragraph_id: str,
) -> None:
    assert not quoted(verifier(EYES, MOUSE), "the barn owl hunts at night", paragraph_id)


def test_name_may_come_from_the_question() -> None:
    checked = verifier(EYES, question="Tell Athena how owls hunt")
    assert quoted(checked, "As Athena knows, Owls hunt at night")


def test_of_equal_quotes_the_one_nearest_to_the_sentence_around_the_claim_wins() -> None:
    text = passage("The owl sees red light. The mouse sees red light.", "p-1")
    found = quoted(verifier(text), "red light", "p-1", "What the mouse sees is red light")
    assert found == "The mouse sees red light."


def test_code_is_quoted_whole() -> None:
    code = passage("x = 1\ny = x + 1\nprint(y)", "p-code", BlockKind.CODE)
    assert quoted(verifier(code), "print(y)", "p-code") == code.text


def test_translated_answer_is_checked_by_its_numbers_and_names_and_not_attributed() -> None:
    checked = verifier(EYES, translated=True)
    assert "270" in quoted(checked, "La lechuza gira la cabeza 270 grados")
    assert not quoted(checked, "La lechuza gira la cabeza 300 grados")
    assert checked.attribute("The barn owl hunts at night.") is None


def quote_of(checked: Verifier, claim: str, paragraph_id: str) -> Unit:
    quote = checked.verify(claim, paragraph_id)
    assert quote is not None
    return quote


def test_a_claim_cites_a_paragraph_once_and_another_claim_by_the_same_number() -> None:
    checked = verifier(EYES, MOUSE)
    cited = CitationList(checked.paragraphs)
    eyes = quote_of(checked, "The owl hunts at night.", "p-eyes")
    mouse = quote_of(checked, "The mouse hides by day.", "p-mouse")
    claims = ((0, 4), eyes), ((0, 4), eyes), ((0, 4), mouse), ((5, 9), eyes)
    assert [cited.add(*claim) is None for claim in claims] == [False, True, False, False]
    assert [one.index for one in cited.citations] == [1, 2, 1]


def test_a_citation_lists_all_pieces_of_its_paragraph_and_the_text_around_the_quote() -> None:
    pieces = in_order(
        passage("The owl has eyes.", "p-long"), passage("It has ears as well.", "p-long")
    )
    checked = verifier(*pieces)
    citation = CitationList(checked.paragraphs).add((0, 4), quote_of(checked, "ears", "p-long"))
    assert citation is not None
    assert citation.spans == ((0, 17), (19, 39))
    checked = verifier(EYES)
    quote = quote_of(checked, "its eyes hold 2,500 rods", "p-eyes")
    citation = CitationList(checked.paragraphs).add((0, 24), quote)
    assert citation is not None
    assert citation.prefix + citation.quote + citation.suffix in EYES.text
    assert (citation.prefix, len(citation.suffix)) == ("The barn owl hunts at night. ", 32)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1,000 and 1.000 and 1 000", {"1000", "1", "000"}),
        ("3.14 or 3,14", {"3.14"}),
        ("twelve owls, 12 mice", {"12"}),
        ("in 1990-1995", {"1990", "1995"}),
        ("BM25 and k1 and v2.0", set()),
        ("no number", set()),
    ],
)
def test_numbers_are_read_without_their_separators(text: str, found: set[str]) -> None:
    assert numbers(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The owl of Minerva", {"minerva"}),
        ("Minerva's owl", set()),
        ("NASA and the pH of McCulloch", {"nasa", "ph", "mcculloch"}),
        ("It ends. Then begins", set()),
        ("- Item one\n- Item two", set()),
        ("useState is a hook", {"usestate"}),
        ("l'Etat, Jean-Paul", {"l", "etat", "jean", "paul"}),
    ],
)
def test_names_are_capitals_where_no_sentence_begins(text: str, found: set[str]) -> None:
    assert names(text) == found


@pytest.mark.parametrize(
    ("sentence", "paragraph_id"), [*case_lines("attributed_sentences"), ("", "")]
)
def test_sentence_goes_to_the_paragraph_that_says_it(sentence: str, paragraph_id: str) -> None:
    """Not to one on its topic, with other numbers or names, or with its terms in another order."""
    quote = verifier(*PLANTS).attribute(sentence)
    assert (quote.source.passage.paragraph_id if quote else "") == paragraph_id


def built(text: str, *cited: str) -> CitedAnswerBuilder:
    """Build this text with each of these parts of it cited to the owl's paragraph."""
    builder = CitedAnswerBuilder(verifier(EYES, MOUSE))
    builder.take(GeneratedText(text))
    for part in cited:
        builder.take(GeneratedCitation(text.index(part), part, ("p-eyes",)))
    builder.close()
    return builder


@pytest.mark.parametrize(
    ("text", "supported"),
    [
        ("The barn owl hunts at night. It likes jazz.", [True, False]),
        ("- The barn owl hunts at night.\n- It likes jazz.", [True, False]),
        ("# Owls\n\nThe barn owl hunts at night.", [False, True]),
        ("1. The barn owl hunts at night.\n\n* * *\n2. It sleeps.", [True, False]),
        ("The barn owl hunts at night.\n```py\nowl.likes = jazz\n```", [True, False]),
        ("The barn owl hunts at night. The owl hunts at night in 1999.", [True, False]),
    ],
)
def test_every_sentence_is_told_supported_or_not(text: str, supported: list[bool]) -> None:
    """A sentence is without list marks; empty lines and rules are none."""
    statements = built(text, "barn owl hunts at night").statements
    assert [one.supported for one in statements] == supported
    assert all(text[one.start].isalpha() or text[one.start] == "`" for one in statements)


def shown(*pieces: str, numbered: bool = True) -> list[tuple[str, int]]:
    """What each piece, and the end, let out: text, and how many citations."""
    builder = CitedAnswerBuilder(verifier(*PLANTS))
    ids = tuple(one.paragraph_id for one in PLANTS) if numbered else ()
    out = [builder.take(GeneratedText(piece, ids)) for piece in pieces]
    return [_let_out(events) for events in [*out, builder.close()]]


def _let_out(events: Sequence[TextDelta | CitationFound]) -> tuple[str, int]:
    texts = [one.text for one in events if isinstance(one, TextDelta)]
    return "".join(texts), len(events) - len(texts)


@pytest.mark.parametrize(
    ("pieces", "texts"),
    [
        ((f"{FABLE} ", "Leaves are the main", " site of photosynthesis", ".", " In"),
         ["", "", "", "", f"{FABLE} {SAID} ", "In"]),
        ((f"{SAID} Par", "rots collect stamps. Mice", " sing. Owls", " play."),
         [f"{SAID} ", "Parrots collect stamps. ", "Mice sing. ", "", ""]),
        (("**Leaves** are the *main* __site__ of `photosynthesis`.",),
         ["", "**Leaves** are the *main* __site__ of `photosynthesis`."]),
    ],
    ids=["held back", "a third supported", "emphasis"],
)  # fmt: skip
def test_text_is_shown_as_soon_as_a_third_of_its_sentences_is_supported(
    pieces: Sequence[str], texts: list[str]
) -> None:
    assert [text for text, _ in shown(*pieces)] == texts


@pytest.mark.parametrize(("numbered", "counts"), [(True, [0, 1, 1, 0]), (False, [0, 0, 0, 2])])
def test_citations_come_with_their_sentence_or_at_the_end_if_the_model_may_send_them_later(
    *, numbered: bool, counts: list[int]
) -> None:
    pieces = (f"{SAID} ", "Monocots have a parallel venation. ", "So")
    assert [count for _, count in shown(*pieces, numbered=numbered)] == counts


MARKERS = r"[1] [1-2] (1) \[1\] [^1] [9] [[1]]".split()


@pytest.mark.parametrize("marker", [*MARKERS, "[Source 1]", "[1, 9]", "\u30101\u3011"])
def test_no_marker_makes_a_supported_answer_unsupported(marker: str) -> None:
    for text in (f"{SAID[:-1]} {marker}.", f"{SAID} {marker}", f"{SAID}\n{marker}\n"):
        builder = CitedAnswerBuilder(verifier(*PLANTS))
        for piece in text:
            builder.take(GeneratedText(piece, ("p-leaves", "p-veins", "p-stems")))
        builder.close()
        assert not builder.unsupported
        assert builder.text.startswith(SAID[:-1])
        assert [one.supported for one in builder.statements] == [True]
        assert builder.citations[0].paragraph_id == "p-leaves"


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        ("Photosynthesis happens mainly in the leaves.\n[1]\n",
         "Photosynthesis happens mainly in the leaves."),
        ("[Leaves](https://evil.example) are the main site of photosynthesis [1], it is said.",
         "Leaves are the main site of photosynthesis, it is said."),
    ],
    ids=["on a line of its own", "behind a link that was removed"],
)  # fmt: skip
def test_a_marker_cites_its_source_for_the_whole_sentence(text: str, claim: str) -> None:
    builder = CitedAnswerBuilder(verifier(*PLANTS))
    builder.take(GeneratedText(text, ("p-leaves",)))
    builder.close()
    (citation,) = builder.citations
    assert builder.text[citation.start : citation.end] == claim
