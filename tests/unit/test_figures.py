"""Which figures of a page belong to the paragraphs that an answer shows."""

import pytest

from app.domain.answering.figures import asked_figure, asks_for_figure, page_figures
from app.domain.answering.question_analysis import QuestionAnalysis
from app.domain.book_id import BookId
from app.domain.chunking.chunk import Passage
from app.domain.document import BlockKind, Figure

P, F, S = BlockKind.PARAGRAPH, BlockKind.FIGURE, BlockKind.SOLUTION
OWL = Figure("/owl.svg", "An owl", "Figure 2.1: An owl.")
CAPTION = (P, OWL.caption, None)
SHOWN = (F, "An owl", OWL)


def page(*blocks: tuple[BlockKind, str, Figure | None]) -> list[Passage]:
    return [
        Passage(f"p{at}", kind, text, at, at + 1, f"/a#p{at}", ("Owls",), figure=figure)
        for at, (kind, text, figure) in enumerate(blocks)
    ]


@pytest.mark.parametrize(
    ("blocks", "shown", "brought"),
    [
        ([SHOWN], {"p0"}, True),
        ([SHOWN, CAPTION], {"p1"}, True),
        ([SHOWN, (P, "Owls hunt.", None)], {"p1"}, False),
        ([SHOWN, CAPTION, (P, "As the drawing shows, owls hunt.", None)], {"p2"}, True),
        ([(P, "Wie die folgende Abbildung zeigt.", None), SHOWN], {"p0"}, True),
        ([(P, "如下图所示。", None), SHOWN], {"p0"}, True),
        ([(P, "See fig. 2.1.", None), (P, "Mice.", None), SHOWN, CAPTION], {"p0"}, True),
        ([(P, "See Figure 2.10.", None), (P, "Mice.", None), SHOWN, CAPTION], {"p0"}, False),
        ([(P, "Mice.", None), SHOWN, CAPTION, (P, "Bats.", None)], {"p0", "p3"}, True),
        ([(P, "Mice.", None), SHOWN, CAPTION, (P, "Bats.", None)], {"p0"}, False),
        (
            [(P, "See Figure 2.1.", None), (S, "An owl", OWL), (P, "Bats.", None)],
            {"p0", "p2"},
            False,
        ),
        ([(S, "An owl", OWL)], {"p0"}, True),
    ],
)
def test_a_figure_belongs_to_paragraphs_that_hold_name_or_enclose_it(
    blocks: list[tuple[BlockKind, str, Figure | None]], shown: set[str], *, brought: bool
) -> None:
    (figure,) = page_figures(page(*blocks), BookId("owls"))
    assert figure.is_brought_by(shown) == brought


@pytest.mark.parametrize(
    ("question", "kind", "found"),
    [
        ("Show me the picture of an owl", F, True),
        ("What does an owl look like?", F, True),
        ("show me a map of the owl", F, True),
        ("Enséñame el mapa de la owl", F, True),
        ("Wie sieht eine owl aus?", F, True),
        ("What is shown in Figure 2.1?", F, True),
        ("What is an owl?", F, False),
        ("Show me the picture of a bat", F, False),
        ("Show me the picture of an owl", S, False),
    ],
)
def test_the_figure_that_a_question_asks_for(question: str, kind: BlockKind, found: bool) -> None:
    figures = [*page_figures(page((kind, "An owl", OWL)), BookId("owls"))]
    words = {"owl": 1, "bat": 2}

    def terms(text: str) -> frozenset[int]:
        return frozenset(number for word, number in words.items() if word in text.lower())

    features = QuestionAnalysis(terms, "en", dict.fromkeys(terms(question), 1.0))
    shown = asks_for_figure(question) and asked_figure(question, features, figures)
    assert bool(shown) == found
