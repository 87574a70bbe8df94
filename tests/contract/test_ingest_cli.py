"""What a person sees of an ingest, and the commands that keep the books."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from app.cli.output import phases
from tests.command_line import Run, write_files
from tests.index_stores import MemoryClient
from tests.ingesting import edit, make_book


@pytest.fixture
def book(tmp_path: Path) -> Path:
    return make_book(tmp_path / "lamps")


def test_the_summary_says_what_changed_what_was_left_out_and_why(run: Run, book: Path) -> None:
    (book / "page1.md").write_text("# Page 1\n\n```py\nlamp = 1\n```\n\nA lamp.\n")
    first = run("ingest", book, "--exclude-kinds", "code")
    assert first.code == 0
    told = [line.split(":")[0] for line in first.err.splitlines()]
    phases = ["read", "chunk", "compare", "embed", "index", "publish"]
    assert told == ["site", "embedder", *phases, "warning"]
    assert "4 files, 7 chunks" in first.out
    assert "left out  1 code as asked" in first.out
    assert "7 added, 0 changed, 0 removed" in first.out
    assert "7 embedded, 0 reused" in first.out
    assert ", 1 batch, $0" in first.out
    assert "published as generation 1" in first.out
    assert "unchanged" in run("ingest", book, "--exclude-kinds", "code").out
    edit(book / "page2.md", "Page2 part0", "Newer words")
    dry = run("ingest", book, "--exclude-kinds", "code", "--dry-run").out
    assert "0 to be added, 1 changed, 0 removed" in dry
    assert "1 to be embedded, 6 reused" in dry
    assert "published" not in dry


@pytest.mark.filterwarnings("ignore:Payload indexes have no effect:UserWarning")
def test_a_server_is_filled_from_the_cache_without_embedding(
    run: Run, book: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("ingest", book, "--json").json()["embedded"] == 8
    monkeypatch.setattr(
        "app.adapters.qdrant.server_client.server_client",
        lambda *_, **__: MemoryClient(),
    )
    moved = run("ingest", book, "--json", QDRANT_URL="http://localhost:6333").json()
    assert (moved["chunks"], moved["added"]) == (8, 8)
    assert (moved["embedded"], moved["chunks"]) == (0, 8)


def test_a_program_reads_progress_and_errors_as_json_lines(run: Run, book: Path) -> None:
    told = run("ingest", book, "--json").err.splitlines()
    progress = [json.loads(line) for line in told if line.startswith("{")]
    phases = list(dict.fromkeys(one["phase"] for one in progress))
    assert phases == ["read", "chunk", "compare", "embed", "index", "publish"]
    ended = {one["phase"]: one for one in progress}
    assert ended["index"] == {"phase": "index", "done": 8, "total": 8, "unit": "chunks"}
    (book / "page1.md").write_bytes(b"# \xff")
    failed = run("ingest", book, "--json")
    error, message = failed.err.splitlines()[-2:]
    assert (failed.code, json.loads(error)["error"]) == (2, "file_refused")
    assert message == f"textbook-rag: {json.loads(error)['message']}"


def test_warnings_name_file_and_line_and_a_long_list_is_cut(run: Run, book: Path) -> None:
    at = ("--base-url", "https://lamps.example")
    hidden = '<div style="display: none">Dim</div>\n\n'
    pages = {
        f"src/page{number}.md": f"# Page {number}\n\nA lamp.\n\n{hidden}" for number in range(25)
    }
    files = {
        "book.toml": '[book]\ntitle = "Lamps"\n',
        "src/SUMMARY.md": "".join(f"- [Page]({name.removeprefix('src/')})\n" for name in pages),
        **pages,
    }
    write_files(book, files)
    result = run("ingest", book, *at, "--json")
    assert result.code == 0
    warnings = result.json()["warnings"]
    assert len(warnings) == 25
    assert warnings[0].startswith("src/page0.md: hidden text")
    told = [line for line in result.err.splitlines() if line.startswith("warning: ")]
    assert told[:20] == [f"warning: {warning}" for warning in warnings[:20]]
    assert told[20] == "warning: and 5 more (--json lists all)"
    again = run("ingest", book, *at, "--json")
    assert again.json()["unchanged"]
    assert again.json()["warnings"] == warnings


def test_the_kind_of_the_site_is_named_with_the_reason(run: Run, tmp_path: Path) -> None:
    page = "# Lamps\n\nA lamp gives light.\n"
    write_files(tmp_path, {"docs/lamps.md": page, "mkdocs.yml": "site_name: Lamps\n"})
    for arguments, why in (
        ([tmp_path], "mkdocs (it has mkdocs.yml)"),
        ([tmp_path, "--site", "plain"], "plain (as --site says)"),
        ([tmp_path / "docs"], "plain (no generator's configuration)"),
    ):
        dry = run("ingest", *arguments, "--dry-run", "--base-url", "https://lamps.example")
        assert dry.err.splitlines()[0] == f"site: {why}"


def test_files_that_only_their_generator_can_read_are_named(run: Run, tmp_path: Path) -> None:
    (tmp_path / "index.md").write_text("# Lamps\n\nA lamp gives light.\n", "utf-8")
    (tmp_path / "oil.qmd").write_text("# Oil\n", "utf-8")
    told = "Quarto is not read (oil.qmd): build the site and give its folder"
    dry = run("ingest", tmp_path, "--dry-run", "--base-url", "https://lamps.example", "--json")
    assert dry.json()["warnings"] == [told]
    (tmp_path / "gas.qmd").write_text("# Gas\n", "utf-8")
    assert "Quarto is not read (gas.qmd and 1 more): build" in run("ingest", tmp_path).refusal()


def test_a_long_phase_tells_how_far_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    now = 0.0
    shown = replace(phases(), clock=lambda: now)
    with shown.phase("embed", 1_200, "texts") as advance:
        for _ in range(4):
            now += 6
            advance(300)
    with shown.phase("publish"):
        now += 90
    assert capsys.readouterr().err.splitlines() == [
        "embed: 600 of 1,200 texts, 12.0 s left",
        "embed: 1,200 of 1,200 texts",
        "embed: 1,200 texts in 24.0 s",
        "publish: 2 min",
    ]


def test_a_state_folder_that_cannot_be_made_is_one_line(run: Run, book: Path) -> None:
    refused = run("ingest", book, RAG_HOME="/dev/null/rag")
    assert "check RAG_HOME" in refused.refusal(1)
    assert "read:" not in refused.err


def test_a_zip_archive_is_read_as_the_folder_in_it(run: Run, book: Path, home: Path) -> None:
    archive = shutil.make_archive(str(home / "lamps"), "zip", book)
    assert run("blocks", archive).out == run("blocks", book).out
    packed = run("ingest", archive, "--dry-run", "--json").json()
    folder = run("ingest", book, "--dry-run", "--json").json()
    same = ("book", "book_version", "files", "chunks", "warnings")
    assert [packed[name] for name in same] == [folder[name] for name in same]


def test_rollback_goes_back_and_forth(run: Run, book: Path) -> None:
    run("ingest", book)
    assert "no previous generation" in run("rollback", "lamps").refusal()
    edit(book / "page0.md", "Page0 part0", "Newer words")
    new = run("ingest", book, "--json").json()
    back = run("rollback", "lamps").out
    assert back.startswith("lamps is back to generation 1, version ")
    assert new["book_version"] not in back
    assert "Newer words" not in run("search", "page0 part0", "--json").out
    assert "generation 2" in run("rollback", "lamps").out


@pytest.mark.usefixtures("two_books")
def test_books_are_listed_each_with_version_chunks_model_time_and_size(run: Run) -> None:
    listed = json.loads(run("books", "--json").out)
    assert [(one["book"], one["generation"]) for one in listed] == [("bats", 1), ("owls", 1)]
    for one, line in zip(listed, run("books").out.splitlines(), strict=True):
        for shown in ("book", "book_version", "chunks", "model", "created_at"):
            assert str(one[shown]) in line
        assert f"{one['size_bytes'] / 1e6:.1f} MB" in line


@pytest.mark.usefixtures("two_books")
def test_a_question_goes_to_one_book_or_several_or_all(run: Run) -> None:
    both = {"owls", "bats"}
    for books, asked in (((), both), (("bats",), {"bats"}), (("owls", "bats"), both)):
        options = [part for book in books for part in ("--book", book)]
        hits = run("search", "night", "--k", "12", *options, "--json").json()["hits"]
        assert {hit["book"] for hit in hits} == asked


def test_a_book_that_is_not_there_is_answered_with_those_that_are(run: Run, book: Path) -> None:
    for said in ("no book is indexed yet: run `textbook-rag ingest", "there are: lamps"):
        for command in ("remove", "rollback", "links"):
            nothing = run(command, "lanps").refusal()
            assert "no book 'lanps'" in nothing
            assert said in nothing
        run("ingest", book)
