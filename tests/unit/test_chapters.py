"""Chapters and their numbers; what of a chapter is its summary, outline and exercises."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from app.adapters.reading.book import read_book
from app.adapters.sentences import split_sentences
from app.domain.answering.chapters import (
    MAX_SUMMARY_WORDS,
    chapters_of,
    outline,
    summary,
    summary_sections,
)
from app.domain.answering.exercises import exercise_numbered, exercises
from app.domain.answering.extractive import ExtractiveAnswer
from app.domain.chunking.chunk import Chunk, Passage
from app.domain.document import BlockKind
from app.domain.retrieval.context_assembly import context_of
from app.domain.retrieval.query import ContextPassage
from tests.answer_fakes import chunk, in_order, passage
from tests.answer_fakes import context_of as placed


def page(file: str, position: int, chapter: str, title: str = "") -> Chunk:
    one = passage("Some text.", heading_path=(title or chapter,))
    return replace(chunk([one], chunk_id=file), file=file, position=position, chapter=chapter)


def pages(*rows: tuple[str, str]) -> list[Chunk]:
    """Pages of (file, chapter), in this order; the first page of a chapter has its title."""
    seen: set[str] = set()
    found: list[Chunk] = []
    for position, (file, chapter) in enumerate(rows):
        title = f"Page {position}" if chapter in seen else chapter
        found.append(page(file, position, chapter, title))
        seen.add(chapter)
    return found


FEW_NUMBERS = ("a.md", "b.md", "c.md", "101.md", "201.md", "d.md", "e.md")


@pytest.mark.parametrize(
    ("chunks", "chapters"),
    [
        (
            pages(
                ("a.md", "Preface"), ("b.md", "1. Owls"), ("c.md", "1. Owls"), ("d.md", "2. Bats")
            ),
            [(None, ["a.md"]), (1, ["b.md", "c.md"]), (2, ["d.md"])],
        ),
        (
            pages(("a.md", "Chapter 3: Owls"), ("b.md", "Chapter 4: Bats"), ("c.md", "12")),
            [(3, ["a.md"]), (4, ["b.md"]), (12, ["c.md"])],
        ),
        (
            pages(("z.md", "前言"), ("a.md", "第2章 猫头鹰"), ("b.md", "第12章 蝙蝠")),
            [(None, ["z.md"]), (2, ["a.md"]), (12, ["b.md"])],
        ),
        (
            pages(
                ("m448.md", "Preface"), ("m12.md", "Owls"), ("m9.md", "Bats"), ("m7.md", "Index")
            ),
            [(None, ["m448.md"]), (1, ["m12.md"]), (2, ["m9.md"]), (3, ["m7.md"])],
        ),
        (
            pages(*((name, f"Owls {name}") for name in FEW_NUMBERS)),
            [(at, [name]) for at, name in enumerate(FEW_NUMBERS, 1)],
        ),
    ],
    ids=["title", "word before the number", "Chinese title", "place in the book", "few numbers"],
)
def test_a_chapter_has_the_number_of_its_title_or_place(
    chunks: list[Chunk], chapters: list[tuple[int | None, list[str]]]
) -> None:
    found = chapters_of(reversed(chunks))
    assert [(one.number, list(one.files)) for one in found] == chapters


def test_a_chapter_has_the_number_that_the_site_shows(tmp_path: Path) -> None:
    contents = "[Preface](a.md)\n- [Owls](b.md)\n  - [Wings](c.md)\n- [Draft]()\n# Part two\n"
    for name in "abcde":
        (tmp_path / f"{name}.md").write_text(f"# {name}\n\nText.\n")
    (tmp_path / "SUMMARY.md").write_text(f"# Summary\n{contents}- [Bats](d.md)\n\n[Index](e.md)\n")
    (tmp_path / "book.toml").write_text('[book]\nsrc = "."\n')
    assert [one.chapter_number for one in read_book(tmp_path).documents] == [0, 1, 1, 3, 0]


def test_a_group_of_groups_is_no_chapter(tmp_path: Path) -> None:
    nav = "nav: [{Senses: [{Sight: [a.md]}, {Hearing: [b.md, {Ears: [c.md]}]}]}, d.md]\n"
    (tmp_path / "mkdocs.yml").write_text(nav, encoding="utf-8")
    for name in "abcd":
        (tmp_path / f"{name}.md").write_text(f"# Page {name}\n\nText.\n", encoding="utf-8")
    chapters = [one.chapter for one in read_book(tmp_path).documents]
    assert chapters == ["Sight", "Hearing", "Hearing", "Page d"]


def test_the_contents_name_a_chapter_with_pages_below_it(tmp_path: Path) -> None:
    summary = "# Summary\n\n"
    for name in ("Owls", "Bats"):
        summary += f"- [{name}]({name}.md#top)\n  - [{name}]({name}-1.md)\n"
        (tmp_path / f"{name}.md").write_text("# Introduction\n\nText.\n", encoding="utf-8")
        (tmp_path / f"{name}-1.md").write_text("# Wings\n\nText.\n", encoding="utf-8")
    (tmp_path / "SUMMARY.md").write_text(f"{summary}- [Mice](mice.md)\n", encoding="utf-8")
    (tmp_path / "mice.md").write_text("# All mice\n\nText.\n", encoding="utf-8")
    (tmp_path / "book.toml").write_text('[book]\nsrc = "."\n', encoding="utf-8")
    chapters = [one.chapter for one in read_book(tmp_path).documents]
    assert chapters == ["Owls", "Owls", "Bats", "Bats", "Mice"]


def test_the_number_that_the_site_shows_comes_before_that_of_the_file() -> None:
    chunks = pages(("00.md", "Preface"), ("02.md", "Owls"), ("07.md", "Bats"))
    chunks = [
        replace(one, chapter_number=number) for one, number in zip(chunks, (0, 1, 2), strict=True)
    ]
    assert [one.number for one in chapters_of(chunks)] == [None, 1, 2]


def text(*rows: tuple[str, str]) -> list[ContextPassage]:
    """Paragraphs of (heading, text) of a page."""
    return placed(*in_order(*(_under(heading, said) for heading, said in rows)))


def _under(
    heading: str, said: str, kind: BlockKind = BlockKind.PARAGRAPH, paragraph_id: str = ""
) -> Passage:
    return passage(said, paragraph_id or f"p-{said[:9]}", kind, heading_path=("Owls", heading))


def shown(sections: Sequence[Sequence[ContextPassage]]) -> list[str]:
    return [" / ".join(one.passage.text for one in section) for section in sections]


@pytest.mark.parametrize(
    "heading",
    ["Summary", "Section Summary", "Key Takeaways", "What You've Learned", "Ownership Recap",
     "Zusammenfassung", "Conclusiones", "En résumé"],
)  # fmt: skip
def test_the_summary_is_found_by_its_heading(heading: str) -> None:
    context = text(("Wings", "Owls fly."), (heading, "They hunt."), (heading, "At night."))
    assert shown(summary_sections(context)) == ["They hunt. / At night."]


def on_pages(*pages: tuple[tuple[str, ...], ...]) -> list[ContextPassage]:
    """A paragraph under each heading path of each page, in reading order."""
    return [
        replace(one, chunk=replace(one.chunk, file=f"{number}.md"))
        for number, paths in enumerate(pages)
        for one in placed(
            *in_order(*(passage(f"Of {path[-1]}.", "p", heading_path=path) for path in paths))
        )
    ]


OWLS, BATS, CATS, DOGS = (((name,), (name, "Life")) for name in ("Owls", "Bats", "Cats", "Dogs"))


@pytest.mark.parametrize(
    ("context", "found"),
    [
        (on_pages(OWLS, BATS, (*CATS, ("Cats", "Summary"))), 1),
        (on_pages((("Owls", "Summary"),), BATS, CATS), 1),
        (on_pages(OWLS, (("Bats", "Summary"),), CATS), 0),
        (on_pages(OWLS, (("Bats", "Life", "Summary"),), CATS), 0),
        (on_pages(OWLS, BATS, (*CATS, ("Cats", "Life", "Summary"))), 0),
        (on_pages(OWLS, (("Recap",),), CATS), 1),
        (on_pages(OWLS, (*BATS, ("Bats", "Recap")), (*CATS, ("Cats", "Recap")), DOGS), 2),
        (on_pages((("Owls", "Life", "Recap"), ("Owls", "Food"))), 0),
    ],
    ids=["end", "start", "one page", "deep", "deep at the end", "own page", "most pages",
         "one section"],
)  # fmt: skip
def test_a_summary_of_one_part_is_not_that_of_the_chapter(
    context: list[ContextPassage], found: int
) -> None:
    assert len(summary_sections(context)) == found


@pytest.mark.parametrize("heading", ["Models for text summarization", "Review Questions", "Wings"])
def test_another_heading_makes_no_summary(heading: str) -> None:
    assert summary_sections(text((heading, "They hunt."))) == []


def summarised(context: list[ContextPassage]) -> ExtractiveAnswer:
    return summary(context, split_sentences, "en", token_budget=3_000)[1]


def test_an_outline_has_the_first_full_sentence_of_each_section() -> None:
    context = text(
        ("Wings", "Owls fly. Bats, too."),
        ("Wings", "They glide."),
        ("Ears", "It holds:"),
        ("Ears", "Owls hear mice. So do cats."),
    )
    answer = summarised(context)
    assert answer.text == "Owls › Wings\n\nOwls fly. …\n\nOwls › Ears\n\nOwls hear mice. …"
    assert [answer.text[start:end] for (start, end), _ in answer.claims] == [
        "Owls fly.",
        "Owls hear mice.",
    ]
    assert [one.heading_path for one in answer.passages] == [("Owls", "Wings"), ("Owls", "Ears")]


def test_a_label_or_a_line_of_links_is_no_sentence() -> None:
    context = text(
        ("Wings", "API Documentation"),
        ("Wings", "owls.wings.Wing"),
        ("Wings", "Owls fly."),
        ("See also", "Bats and cats"),
    )
    assert summarised(context).text == "Owls fly."


def test_a_page_without_sentences_shows_what_it_has() -> None:
    context = text(("Wings", "Owls fly"), ("Ears", "Owls hear"))
    assert summarised(context).text == "Owls › Wings\n\nOwls fly\n\nOwls › Ears\n\nOwls hear"


def test_many_subsections_are_no_reason_to_show_less_than_the_sections() -> None:
    paths = [("Owls", f"Part {at % 4}", f"Place {at}") for at in range(16)]
    context = on_pages(tuple(sorted(paths)))
    assert [one.passage.heading_path[1] for one, *_ in outline(context)] == [
        f"Part {at}" for at in range(4)
    ]


def test_long_summaries_share_the_words() -> None:
    parts = [
        (f"Page {page}", f"{at} " + "An owl flies by night. " * 6)
        for page in range(2)
        for at in range(20)
    ]
    context = [
        replace(
            one,
            passage=replace(one.passage, heading_path=("Owls", "Summary")),
            chunk=replace(one.chunk, file=one.passage.heading_path[-1]),
        )
        for one in text(*parts)
    ]
    sizes = [len(one.text.split()) for one in summarised(context).passages]
    assert len(sizes) == 2
    assert all(size > MAX_SUMMARY_WORDS / 3 for size in sizes)
    assert sum(sizes) <= MAX_SUMMARY_WORDS


def test_a_lead_in_is_not_the_last_that_is_shown() -> None:
    hunt, eat = (
        _under("Summary", "Owls hunt."),
        _under("Summary", "They eat:", paragraph_id="p-eat"),
    )
    long = _under("Summary", "- " + "many owls " * 300, BlockKind.LIST, "p-list")
    assert summarised(placed(*in_order(hunt, eat, long))).text == "Owls hunt."


TASKS = in_order(
    _under("Exercise 4.1", "Why?", BlockKind.EXERCISE, "p-1"),
    _under("Exercises", "2. Exercise 4.2. When?", BlockKind.EXERCISE, "p-2"),
    _under("Solutions", "At night.", BlockKind.SOLUTION, "p-3"),
)
UNLABELLED = in_order(
    _under("Review", "Why?", BlockKind.EXERCISE, "p-1"),
    _under("Review", "When?", BlockKind.EXERCISE, "p-2"),
)


@pytest.mark.parametrize(
    ("tasks", "chapter", "number", "paragraph_id"),
    [
        (TASKS, 4, 1, "p-1"),
        (TASKS, 4, 2, "p-2"),
        (TASKS, 4, 3, None),
        (TASKS, 5, 1, None),
        (UNLABELLED, 4, 2, "p-2"),
        (UNLABELLED, 4, 3, None),
        (UNLABELLED, 4, 0, None),
    ],
)
def test_an_exercise_is_found_by_its_label_else_by_its_place(
    tasks: list[Passage], chapter: int, number: int, paragraph_id: str | None
) -> None:
    found = exercise_numbered(placed(*tasks), chapter, number)
    assert (found.paragraph_id if found else None) == paragraph_id


def test_a_heading_that_asks_stands_for_its_exercise() -> None:
    told = _under("Why do owls hoot?", "To call. Correct!", BlockKind.EXERCISE)
    assert [one.passage.text for one in exercises(placed(told))] == ["Why do owls hoot?"]


def test_a_paragraph_in_two_chunks_comes_once_and_whole() -> None:
    whole = passage("Owls fly. They hoot.", "p-1")
    part = replace(whole, text="They hoot.", start=10)
    held = context_of([chunk([part], "c-2"), chunk([whole])], lambda said: len(said.split()))
    assert [(one.passage.text, one.tokens) for one in held] == [("Owls fly. They hoot.", 4)]
