"""Chapters and their numbers; what of a chapter is its summary, outline and exercises."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from app.adapters.sentences import split_sentences
from app.domain.answering.chapters import (
    MAX_SUMMARY_WORDS,
    beginning,
    chapters_of,
    named_sections,
    outline,
    page_of,
    summary,
    summary_sections,
    with_sides,
)
from app.domain.answering.exercises import exercise_numbered, exercises
from app.domain.answering.extractive import ChosenPassage, ExtractiveAnswer
from app.domain.answering.units import whole_unit
from app.domain.chunking.chunk import Chunk, Passage
from app.domain.document import BlockKind
from app.domain.retrieval.query import ContextPassage
from app.domain.terms import words
from tests.command_line import write_files
from tests.fake_world import chunk, in_order, passage
from tests.fake_world import context_of as placed
from tests.markdown_pages import read_folder


def page(file: str, position: int, chapter: str) -> Chunk:
    one = passage("Some text.", heading_path=(chapter,))
    return replace(chunk([one], chunk_id=file), file=file, position=position, chapter=chapter)


def pages(*titles: str) -> list[Chunk]:
    """Pages of these chapters, in this order."""
    return [page(f"{at}.md", at, title) for at, title in enumerate(titles)]


FEW = ("Owls", "Bats", "101 cats", "Cats", "Dogs", "Hens", "Mice")


@pytest.mark.parametrize(
    ("titles", "numbers", "lengths"),
    [
        (("Preface", "1. Owls", "1. Owls", "2. Bats"), [None, 1, 2], [1, 2, 1]),
        (("Chapter 3: Owls", "Chapter 4: Bats", "12"), [3, 4, 12], [1, 1, 1]),
        (("前言", "第2章 猫头鹰", "第12章 蝙蝠"), [None, 2, 12], [1, 1, 1]),
        (("Preface", "Owls", "Bats", "Index"), [None, 1, 2, 3], [1] * 4),
        (FEW, [*range(1, 8)], [1] * 7),
        (("The book", "Owls", "Owls", "Bats", "Bats"), [None, 1, 2], [1, 2, 2]),
    ],
    ids=[
        "title",
        "word before the number",
        "Chinese title",
        "place in the book",
        "few numbers",
        "single page",
    ],
)
def test_a_chapter_has_the_number_of_its_title_or_place(
    titles: Sequence[str], numbers: list[int | None], lengths: list[int]
) -> None:
    found = chapters_of(reversed(pages(*titles)))
    assert [one.number for one in found] == numbers
    assert [len(one.files) for one in found] == lengths


def test_a_chapter_is_named_by_its_number_once_and_a_page_of_it_by_its_heading() -> None:
    assert [one.name for one in chapters_of(pages("Owls", "Bats"))] == ["1. Owls", "2. Bats"]
    (chapter,) = chapters_of([page("a.md", 1, "1. Owls"), page("b.md", 2, "1. Owls")])
    assert chapter.name == "1. Owls"
    one = page_of(chapter, "b.md")
    assert (one.files, one.number, one.name) == (("b.md",), None, "1. Owls")


def test_a_chapter_has_the_number_that_the_site_shows(tmp_path: Path) -> None:
    contents = "[Preface](a.md)\n- [Owls](b.md)\n  - [Wings](c.md)\n- [Draft]()\n# Part two\n"
    files = {f"{name}.md": "# Introduction\n\nText.\n" for name in "abcde"}
    files["SUMMARY.md"] = f"# Summary\n{contents}- [Bats](d.md)\n\n[Index](e.md)\n"
    files["book.toml"] = '[book]\nsrc = "."\n'
    documents = read_folder(write_files(tmp_path, files)).documents
    assert [one.chapter_number for one in documents] == [0, 1, 1, 3, 0]
    assert [one.chapter for one in documents] == ["Preface", "Owls", "Owls", "Bats", "Index"]
    chunks = pages("00", "07. Owls", "02. Bats")
    numbered = [replace(one, chapter_number=at) for at, one in enumerate(chunks)]
    assert [one.number for one in chapters_of(numbered)] == [None, 1, 2]


def test_a_group_of_groups_is_no_chapter(tmp_path: Path) -> None:
    nav = "nav: [{Senses: [{Sight: [a.md]}, {Hearing: [b.md, {Ears: [c.md]}]}]}, d.md]\n"
    files = {f"{name}.md": f"# Page {name}\n\nText.\n" for name in "abcd"} | {"mkdocs.yml": nav}
    chapters = [one.chapter for one in read_folder(write_files(tmp_path, files)).documents]
    assert chapters == ["Sight", "Hearing", "Hearing", "Page d"]


def test_a_chapter_listed_by_its_file_has_the_title_of_the_page(tmp_path: Path) -> None:
    listed = "{file: a, sections: [{file: b}]}, {file: c}"
    toc = f"format: jb-book\nroot: index\nparts: [{{caption: Birds, chapters: [{listed}]}}]\n"
    files = {f"{name}.md": f"# Page {name}\n\nText.\n" for name in ("index", *"abc")}
    documents = read_folder(write_files(tmp_path, files | {"_toc.yml": toc})).documents
    assert [one.chapter[-1] for one in documents] == [*"xaac"]
    home = replace(page("index.md", 0, "Owls"), chapter="The book of owls")
    assert [one.number for one in chapters_of([home, page("a.md", 1, "Owls")])] == [None, 1]


def _under(
    heading: str, said: str, kind: BlockKind = BlockKind.PARAGRAPH, paragraph_id: str = ""
) -> Passage:
    return passage(said, paragraph_id or f"p-{said[:9]}", kind, heading_path=("Owls", heading))


def text(*rows: tuple[str, str]) -> list[ContextPassage]:
    """Paragraphs of (heading, text) of a page."""
    return placed(*in_order(*(_under(heading, said) for heading, said in rows)))


def on_pages(contents: str) -> list[ContextPassage]:
    """A paragraph under each heading path: "Owls Owls/Life, Bats" has two pages."""
    found: list[ContextPassage] = []
    for number, paths in enumerate(contents.split(", ")):
        made = [passage("Text.", "p", heading_path=tuple(one.split("/"))) for one in paths.split()]
        found += [
            replace(one, chunk=replace(one.chunk, file=f"{number}.md"))
            for one in placed(*in_order(*made))
        ]
    return found


@pytest.mark.parametrize(
    "heading",
    ["Summary", "Section Summary", "Key Takeaways", "What You've Learned", "Ownership Recap",
     "Zusammenfassung", "Conclusiones", "En résumé"],
)  # fmt: skip
def test_the_summary_is_found_by_its_heading(heading: str) -> None:
    (found,) = summary_sections(
        text(("Wings", "Owls fly."), (heading, "They hunt."), (heading, "At night."))
    )
    assert [one.passage.text for one in found] == ["They hunt.", "At night."]


@pytest.mark.parametrize(
    ("contents", "found"),
    [
        ("Owls, Bats, Cats Cats/Life Cats/Summary", 1),
        ("Owls/Summary, Bats, Cats", 1),
        ("Owls, Bats/Summary, Cats", 0),
        ("Owls, Bats/Life/Summary, Cats", 0),
        ("Owls, Bats, Cats Cats/Life/Summary", 0),
        ("Owls, Recap, Cats", 1),
        ("Owls, Bats Bats/Recap, Cats Cats/Recap, Dogs", 2),
        ("Owls/Life/Recap Owls/Food", 0),
        ("Owls Owls/Summarization", 0),
        ("Owls Owls/Review", 0),
    ],
)
def test_a_summary_of_one_part_is_not_that_of_the_chapter(contents: str, found: int) -> None:
    assert len(summary_sections(on_pages(contents))) == found


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


@pytest.mark.parametrize(
    ("rows", "shown"),
    [
        ((("Wings", "API Documentation"), ("Wings", "owls.Wing"), ("Wings", "Owls fly."),
          ("See also", "Bats and cats")), "Owls fly."),
        ((("Wings", "Owls fly"), ("Ears", "Owls hear")),
         "Owls › Wings\n\nOwls fly\n\nOwls › Ears\n\nOwls hear"),
    ],
    ids=["labels and links", "no sentence at all"],
)  # fmt: skip
def test_what_is_no_sentence_is_shown_only_if_there_is_none(
    rows: Sequence[tuple[str, str]], shown: str
) -> None:
    assert summarised(text(*rows)).text == shown


def test_many_subsections_are_no_reason_to_show_less_than_the_sections() -> None:
    paths = sorted(f"Owls/Part{at % 4}/Place{at}" for at in range(16))
    found = outline(on_pages(" ".join(paths)))
    assert [one.passage.heading_path[1] for one, *_ in found] == [f"Part{at}" for at in range(4)]


def test_long_summaries_share_the_words() -> None:
    context = [
        replace(one, chunk=replace(one.chunk, file=f"{file}.md"))
        for file in range(2)
        for one in text(*(("Summary", f"{file} {at} " + "An owl flies. " * 9) for at in range(20)))
    ]
    sizes = [len(one.text.split()) for one in summarised(context).passages]
    assert len(sizes) == 2
    assert all(size > MAX_SUMMARY_WORDS / 3 for size in sizes)
    assert sum(sizes) <= MAX_SUMMARY_WORDS


def test_a_lead_in_is_not_the_last_that_is_shown() -> None:
    hunt, eat = _under("Summary", "Owls hunt."), _under("Summary", "They eat:", paragraph_id="p-e")
    long = _under("Summary", "- " + "many owls " * 300, BlockKind.LIST, "p-list")
    assert summarised(placed(*in_order(hunt, eat, long))).text == "Owls hunt."


def test_what_the_reader_will_learn_is_shown_only_if_there_is_nothing_else() -> None:
    told = (
        _under("Summary", "At the end of the page you should be able to:"),
        _under("Summary", "Owls hunt."),
    )
    assert summarised(placed(*in_order(*told))).text == "Owls hunt."
    assert summarised(placed(told[0])).text == told[0].text
    assert beginning(text(("Wings", "Owls fly."))) is None


CHUNKS = [chunk([passage("Text.", heading_path=path)], chunk_id=f"{at}") for at, path in enumerate(
    [("Owls", "3.1 Wings"), ("Owls", "Wings", "Bones"), ("Bats", "Ears"), ("Bats", "Feet", "Ears"),
     ("Owls", "Day song"), ("Bats", "Night song")]
)]  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "paths"),
    [
        ("owls", ["Owls"]),
        ("Bones", ["Owls Wings Bones"]),
        ("wings", []),
        ("ears", []),
        ("bird", []),
        ("feet vs bones", ["Owls Wings Bones", "Bats Feet"]),
        ("the difference between feet and bones", ["Owls Wings Bones", "Bats Feet"]),
        ("day vs night", ["Owls Day song", "Bats Night song"]),
        ("feet and bones", []),
        ("feet vs bones of cats", []),
    ],
)
def test_sections_are_known_by_headings_that_no_other_has(asked: str, paths: list[str]) -> None:
    def terms(text: str) -> frozenset[int]:
        return frozenset(map(hash, {*words(text)} - {"the", "between", "and", "of"}))

    found = named_sections(asked, CHUNKS, terms, "en")
    assert [" ".join(one.path) for one in found] == paths


def test_a_comparison_shows_the_beginning_of_the_side_that_is_missing() -> None:
    wings, ears = (
        text((one, f"{one} of owls. " * 12), (one, "More.")) for one in ("Wings", "Ears")
    )
    found, other = (ChosenPassage([whole_unit(one[0])]) for one in (wings, ears))
    more = ChosenPassage([whole_unit(ears[1])])
    shown = with_sides([found, found], [wings, ears])
    assert [one.parts for one in shown] == [found.parts, [*other.parts, *more.parts], found.parts]
    assert with_sides([found, more], [wings, ears]) == [found, more]


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


@pytest.mark.parametrize(
    ("files", "pages"),
    [
        (
            {"mkdocs.yml": "docs_dir: .\nnav: [docs/a.md, {More: [more/c.md]}, guide/b.md]"},
            ["A /docs/a/", "More /more/c/", "B /guide/b/"],
        ),
        (
            {
                "mkdocs.yml": "docs_dir: .\nplugins: [search, {literate-nav: {nav_file: nav.md}}]",
                "nav.md": "---\nhide: x\n---\n- [D](more/c.md)\n- [X](docs/a.md)\n",
            },
            ["D /more/c/", "X /docs/a/"],
        ),
        (
            {"zensical.toml": "[project]\ndocs_dir = '.'\nnav = [{ 'D' = 'more/c.md' }]"},
            ["D /more/c/"],
        ),
        (
            {
                "_config.yml": "permalink: /:title/\ncollections: {x: {}}",
                "_x/e.md": "# E\n\nText.",
                "f.md": "---\npermalink: /own/\n---\n# F\n\nText.",
            },
            ["A /docs/a/", "F /own/", "B /guide/b/", "C /more/c/", "E /x/e/"],
        ),
        (
            {"index.md": "# I\n\nText.", "README.md": "# R\n\nText.", "AGENTS.md": "Text."},
            [
                "I /index.html",
                "R /README.html",
                "A /docs/a.html",
                "B /guide/b.html",
                "C /more/c.html",
            ],
        ),
        (
            {
                "SUMMARY.md": "- [D](more/c.md)\n",
                "README.md": "# R\n\nText.",
                "book.json": "{title: R}",
            },
            ["R /index.html", "D /more/c.html"],
        ),
        (
            {
                "myst.yml": "project: {toc: [{file: docs/a}, {file: 02_D & E.md}, {file: a.md}]}",
                "02_D & E.md": "# D\n\nText.",
                "a.md": "# E\n\nText.",
            },
            ["A /", "D /d-and-e", "E /a"],
        ),
        (
            {
                "myst.yml": "project: {}\nsite: {options: {folders: true}}",
                "docs/index.md": "# I\n\nText.",
            },
            ["I /", "A /docs/a", "B /guide/b", "C /more/c"],
        ),
        (
            {
                "index.md": "# I\n\nText.\n\n```toc\n:maxdepth: 1\nmore/c\n```",
                "more/c.md": "# C\n\nText.\n\n```{toctree}\nB <../guide/b>\n../index\n```",
            },
            ["I /index.html", "C /more/c.html", "C /guide/b.html"],
        ),
        (
            {
                "config.yaml": "carpentry: x\nepisodes: [e.md, d.md]",
                "episodes/d.md": "# D\n\nText.",
                "episodes/e.md": "# E\n\nText.",
                "learners/s.md": "# S\n\nText.",
                "index.md": "# I\n\nText.",
            },
            ["I /index.html", "E /e.html", "D /d.html", "S /s.html"],
        ),
        (
            {
                "index.html": '<meta http-equiv="Refresh" content="0; url=i.html" />\n',
                "i.html": "<h1>I</h1>Text.",
            },
            ["I /i.html"],
        ),
    ],
    ids="MkDocs nav Zensical Jekyll README GitBook mystmd folders toctree Carpentry built".split(),
)
def test_chapters_and_addresses_are_those_of_the_site(
    files: dict[str, str], pages: list[str], tmp_path: Path
) -> None:
    common = {
        f"{one}.md": f"# {one[-1].upper()}\n\nText." for one in ("docs/a", "guide/b", "more/c")
    }
    read = read_folder(write_files(tmp_path, common | files))
    assert [f"{one.chapter} {one.url}" for one in read.documents] == pages


def test_the_server_shows_a_folder_whatever_address_it_configures(tmp_path: Path) -> None:
    """A copy of a book may configure the address of its repository."""
    files = {"a.md": "# A\n\nText.", "_config.yml": "url: https://e.org\nbaseurl: /b"}
    folder = write_files(tmp_path, files)
    assert read_folder(folder, base_url="/pages/x").base_url == "/pages/x"
    assert read_folder(folder).base_url == "https://e.org/b"
