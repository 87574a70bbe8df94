"""The page of transcripts is what its program writes of the sample book's answers."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

from app.domain.answer import Answer, AnswerMode, Citation
from app.domain.book_id import BookId
from tests.conftest import ROOT

PAGE = (ROOT / "specs/001-textbook-rag/transcripts.md").read_text("utf-8")


def program() -> ModuleType:
    path = ROOT / "scripts/transcripts.py"
    spec = importlib.util.spec_from_file_location("transcripts", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["transcripts"] = module
    spec.loader.exec_module(module)
    return module


def test_the_page_has_every_question_in_its_order() -> None:
    places = [PAGE.index(f"## {asked.title}\n") for asked in program().QUESTIONS]
    assert places == sorted(places)
    assert PAGE.count("\n## ") == len(places)
    for asked in program().QUESTIONS:
        assert f"**{asked.question}**" in PAGE


def test_a_number_stands_where_a_claim_ends_and_each_link_stands_once() -> None:
    def cited(index: int, start: int, end: int, quote: str) -> Citation:
        return Citation(
            index=index,
            start=start,
            end=end,
            paragraph_id="p-1",
            url=f"https://book.example/#{index}",
            title="Owls",
            heading_path=("Birds", "Owls"),
            quote=quote,
            book=BookId("b"),
            file="a.md",
            spans=((0, 9),),
        )

    text = "Owls hoot. They fly.\n\n| a |\n|---|\n| b |"
    citations = (
        cited(1, 0, 10, "Owls hoot."),
        cited(1, 11, 20, "They fly."),
        cited(2, 22, 40, "x"),
    )
    answer = Answer(text, AnswerMode.EXTRACTIVE, citations=citations)
    written = program().page([program().Asked("Owls", "Do owls hoot?")], [answer])
    assert "> Owls hoot. [1] They fly. [1]\n>\n> | a |\n> |---|\n> | b |\n>\n> [2]\n" in written
    links = "- [1] [Birds > Owls](<https://book.example/#1>): “Owls hoot.” · “They fly.”\n- [2] "
    assert links in written
