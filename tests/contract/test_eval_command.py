"""`eval` on a small book, and the students' questions that come with the tests."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from app.bootstrap.question_file import read_questions
from app.domain.evaluation.metrics import has_facts
from tests.command_line import Run, runner, write_files, write_questions
from tests.conftest import ROOT
from tests.serving import ingested

# Astral characters and CRLF: offsets count code points of the bytes as they are.
BOOK = {
    "bees.md": "# Bees 🐝\r\n\r\n"
    "The 🐝 honey bee dances the waggle dance to tell where nectar is.\r\n\r\n"
    "## Wax\r\n\r\nWorker bees 𝒘 make wax from glands under the abdomen.\r\n\r\n"
    "Wax cells are hexagonal, which saves material.\r\n",
    "tides.md": "# Tides\n\nThe moon pulls the sea, and tides rise twice a day.\n\n"
    "Spring tides come when sun and moon pull together.\n",
    "stars/novae.md": "# Novae\n\nA nova is a white dwarf that flares up for weeks.\n",
    "stars/sun.md": "# The sun\n\nThe sun turns hydrogen into helium by fusion in its core.\n",
}


def span(file: str, passage: str) -> dict[str, object]:
    start = BOOK[file].index(passage)
    return {"file": file, "start": start, "end": start + len(passage)}


BEES = "The 🐝 honey bee dances the waggle dance"
WAX = "Worker bees 𝒘 make wax from glands under the abdomen."
CELLS = "Wax cells are hexagonal, which saves material."
HISTORY = [
    {"role": "user", "content": "What happens in the sun's core?"},
    {"role": "assistant", "content": "Fusion of hydrogen."},
]
QUESTIONS: list[dict[str, object]] = [
    {"question": "How do honey bees tell where nectar is?", "gold": [span("bees.md", BEES)]},
    {
        "question": "Where does wax come from, and what shape has it?",
        "gold": [span("bees.md", WAX), span("bees.md", CELLS)],
    },
    {
        "kind": "term",
        "question": "What is wax?",
        "gold": [span("bees.md", CELLS), span("tides.md", "Spring tides come")],
    },
    {"question": "How often do tides rise?", "gold": [], "gold_file": "tides.md"},
    {"question": "What flares up for weeks?", "gold": [], "gold_file": "stars/"},
    {
        "question": "What does the moon pull?",
        "gold": [span("tides.md", "The moon pulls the sea")],
        "filter_file": "stars/sun.md",
    },
    {
        "question": "And what does it make there?",
        "history": HISTORY,
        "gold": [span("stars/sun.md", "helium")],
    },
    {"question": "Who won the chess olympiad in 1972?", "gold": [], "answerable": False},
]
SHAPE = {"gold": [span("bees.md", CELLS)], "key_facts": ["hexagon", "saves"]}
STUDENTS: list[dict[str, object]] = [
    {"book": "small", "question": "Why are wax cells hexagonal?", **SHAPE},
    {"book": "small", "question": "Who won at chess?", "kind": "x", "answerable": False},
    {"book": "elsewhere", "question": "Who won?", "kind": "x", "answerable": False},
]
"""Questions about a book that is indexed, and about another one."""


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small book's index: made once, since no test changes it."""
    folder = tmp_path_factory.mktemp("eval")
    return ingested(folder / "state", write_files(folder / "small", BOOK)).home


@pytest.fixture
def run(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    write_questions(tmp_path / "questions.jsonl", QUESTIONS)
    write_questions(tmp_path / "students.jsonl", STUDENTS)
    command = runner(tmp_path, monkeypatch, capsys)
    monkeypatch.setenv("RAG_HOME", str(state))
    return command


def test_a_row_a_question_has_what_was_found_of_its_gold(run: Run) -> None:
    found = run("eval", "questions.jsonl", "--book", "small", "--json").json()
    rows: list[Any] = found["questions"]
    assert [row["id"] for row in rows] == [str(number) for number in range(len(QUESTIONS))]
    recalled = [row["measures"].get("recall@5") for row in rows]
    # Half of a term's gold is enough; the filter leaves out the file with the gold.
    assert recalled == [1, 1, 1, 1, 1, 0, 1, None]
    assert [row["rank"] > 0 for row in rows[:-1]] == [True] * 5 + [False, True]
    assert "precision" not in rows[3]["measures"]
    assert (found["n"], found["answerable"], found["recall@5"]) == (7, 7, 0.8571)
    assert found["hit@5"] == found["recall@5"] >= found["mrr"] >= found["hit@1"] > 0
    first = run("eval", "questions.jsonl", "--book", "small", "--k", "1", "--json").json()
    assert first["recall@5"] == found["recall@5"] >= first["recall@1"] == first["hit@1"] > 0


def test_the_json_tells_how_it_was_measured_and_suggests_a_threshold(run: Run) -> None:
    found = run("eval", "questions.jsonl", "--calibrate", "--json").json()
    assert found["run"].keys() == {"of", "questions", "book", "k", "embedder", "generator"}
    assert [found["run"][name] for name in ("of", "book", "k")] == ["retrieval", "", 5]
    assert found["refusal"]["setting"] == "RAG_REFUSAL_THRESHOLD"
    assert set(found["refusal"]["suggested"]) == set(found["refusal"]["current"])
    assert {"question", "term"} == set(found["by_kind"])


def test_the_suggested_threshold_is_a_setting(run: Run) -> None:
    strict = {"RAG_REFUSAL_THRESHOLD": "1"}
    assert run("ask", "How often do tides rise?", "--json", **strict).json()["refused"] is True
    found = run("eval", "questions.jsonl", "--calibrate", "--json", **strict).json()
    assert found["refusal"]["current"]["threshold"] == 1
    assert run("ask", "Why?", RAG_REFUSAL_THRESHOLD="7").refusal()


@pytest.mark.parametrize(
    ("option", "column"),
    [("--calibrate", "recall@5"), ("--helpful", "citation_precision")],
)
def test_the_table_has_a_row_a_kind_and_thresholds(run: Run, option: str, column: str) -> None:
    head, _, *lines = run("eval", "questions.jsonl", option).out.splitlines()
    assert column in head
    rows = [line.split("|")[1].strip() for line in lines if line.startswith("|")]
    assert rows[:5] == ["question", "term", "all answerable", "question", "all unanswerable"]
    total = next(line for line in lines if line.startswith("| all unanswerable"))
    assert " - |" in total  # a metric of answerable questions
    if option == "--helpful":
        refused = [line.split("|")[5].strip() for line in lines if line.startswith("| all")]
        assert refused == ["0.143", "1.00"]
    assert lines[-1].startswith("RAG_ANSWER_THRESHOLD=")


def test_helpful_has_means_kinds_and_a_row_a_question(run: Run) -> None:
    found = run("eval", "--helpful", "students.jsonl", "--book", "small", "--json").json()
    assert (found["n"], found["facts_shown"], found["found"], found["cited_gold"]) == (2, 1, 1, 1)
    assert found["words_shown"] >= len(CELLS.split())
    assert found["unanswerable_refused"] == found["by_kind"]["x"]["n"] == 1
    assert found["run"]["of"] == "helpful"
    rows = found["questions"]
    assert [(row["id"], row["mode"], row["outcome"], row["failure"]) for row in rows] == [
        ("0", "extractive", "answered", None),
        ("1", "refused", "refused", None),
    ]
    assert rows[0]["measures"]["facts_shown"] == 1


def test_gold_files_that_are_not_in_the_index_are_named(run: Run, tmp_path: Path) -> None:
    places: list[dict[str, object]] = [
        {"gold": [span("tides.md", "The moon")]},
        {"gold": [{"file": "docs/tides.md", "start": 0, "end": 9}]},
        {"gold_file": "sun.md"},
        {"gold_file": "stars/"},
    ]
    asked = [{"question": "Tides?", **place} for place in places]
    write_questions(tmp_path / "questions.jsonl", asked)
    result = run("eval", "questions.jsonl")
    assert result.code == 0
    named = re.findall(r"warning: a gold passage's file is not in the index: (.*)", result.err)
    assert named == ["docs/tides.md", "sun.md"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["eval"], "Missing argument 'QUESTIONS.jsonl'"),
        (["eval", "tides.jsonl", "--calibrate"], "needs answerable and unanswerable"),
        (["eval", "questions.jsonl", "--book", "other"], "no book 'other'"),
        (["eval", "students.jsonl", "--helpful", "--book", "nothing"], "no question for this book"),
        (["eval", "students.jsonl", "--helpful"], "elsewhere"),
    ],
)
def test_what_cannot_be_measured_is_one_line(
    run: Run, tmp_path: Path, arguments: Sequence[str], message: str
) -> None:
    write_questions(tmp_path / "tides.jsonl", QUESTIONS[3:4])
    assert message in run(*arguments).refusal()


def test_every_gold_place_of_the_sample_book_has_the_key_facts(sample_book: Path) -> None:
    for one in read_questions(ROOT / "tests/data/student_questions.jsonl"):
        if one.book != "sample" or not one.answerable:
            continue
        texts = [
            (sample_book / gold.file).read_bytes().decode("utf-8")[gold.start : gold.end]
            for gold in one.gold
        ]
        assert all(text.strip() for text in texts), one.id
        for text in ["\n\n".join(texts)] if one.gold_all else texts:
            assert has_facts(text, one.key_facts), one.id
