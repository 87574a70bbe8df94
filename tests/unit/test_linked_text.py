"""Citations as Markdown links in an answer's text, whole and streamed."""

import pytest

from app.api.protocols.linked_text import LinkedText, linked, without_links
from app.domain.answer import Answer, AnswerMode, Citation
from tests.made_chunks import made_citation

LINK = "[1](https://b.example/x#a)"
OTHER = "[2](https://b.example/y)"


def cited(start: int, end: int) -> Citation:
    return made_citation(start=start, end=end, url="https://b.example/x#a")


def second(start: int, end: int) -> Citation:
    return made_citation(index=2, start=start, end=end, url="https://b.example/y")


def streamed(*steps: str | Citation) -> str:
    writer, before = LinkedText(), ""
    for one in steps:
        if isinstance(one, str):
            writer.write(one)
        else:
            writer.cite(one)
        assert writer.text.startswith(before), "what was sent stays"
        before = writer.text
    writer.close()
    for link in writer.links:
        shown = f"[{link.citation.index}]({link.citation.url})"
        assert writer.text[link.start : link.end] == shown
    return writer.text


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (["Owls see. ", "They fly."], "Owls see. They fly."),
        (["Owls see.", cited(0, 9), " They fly."], f"Owls see. {LINK} They fly."),
        (["Owls see.", cited(0, 8), second(0, 9)], f"Owls see. {LINK} {OTHER}"),
        (["Owls see.\n\n", cited(0, 9), "- fly"], f"Owls see. {LINK}\n\n- fly"),
        (["Owls see. Then", cited(0, 9), " fly."], f"Owls see. Then {LINK} fly."),
        (["```py\nx", cited(6, 7), "\n```", "\n\nThat."], f"```py\nx\n```\n{LINK}\n\nThat."),
        (["```py\nx", cited(6, 7), "\n```"], f"```py\nx\n```\n{LINK}"),
        (["```py\nx", cited(6, 7)], f"```py\nx\n```\n{LINK}"),
        (["a | b\n--- | ---\n1 | 2", cited(0, 20)], f"a | b\n--- | ---\n1 | 2 {LINK}"),
        (["🦉 sees.", cited(0, 7)], f"🦉 sees. {LINK}"),
    ],
)
def test_a_link_stands_behind_its_claim(steps: list[str | Citation], expected: str) -> None:
    assert streamed(*steps) == expected


def test_a_whole_answer_has_each_link_in_place() -> None:
    answer = Answer(
        "Owls see. Then fly.", AnswerMode.GENERATED, citations=(second(10, 19), cited(0, 9))
    )
    found = linked(answer)
    assert found.text == f"Owls see. {LINK} Then fly. {OTHER}"
    assert [found.text[one.start : one.end] for one in found.links] == [LINK, OTHER]
    assert without_links(found.text) == answer.answer
