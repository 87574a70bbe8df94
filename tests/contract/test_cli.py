"""Every command, on a real book in a state folder of its own; wrong input is one clear line."""

import io
import os
import shlex
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from app.cli import main
from app.settings import Settings
from tests.command_line import LAMPS, Run
from tests.openai_double import OpenAIDouble
from tests.owl_server import BOOK as OWLS
from tests.owl_server import QUESTION


def test_ingest_reports_what_it_did(run: Run, tiny: Path) -> None:
    report = run("ingest", tiny, "--base-url", "https://tiny.example", "--json").json()
    assert (report["book"], report["files"], report["warnings"]) == ("tiny", 2, [])
    assert report["blocks"] == {"heading": 3, "paragraph": 3, "table": 1}
    assert report["chunks"] == report["added"] == report["embedded"]
    assert report["tokens"] > 50


@pytest.mark.usefixtures("state")
def test_search_finds_the_paragraph_and_says_where_it_stands(run: Run) -> None:
    hit = run("search", QUESTION, "--book", "owls", "--k", "2", "--json").json()["hits"][0]
    assert hit["file"] == "owls.md"
    assert "soft fringe" in "".join(OWLS[start:end] for start, end in hit["spans"])
    assert 0 < hit["score"] <= 1


@pytest.mark.usefixtures("state")
def test_a_model_that_refuses_the_account_leaves_the_books_words_and_a_reason(run: Run) -> None:
    with OpenAIDouble(status=401) as double:
        model = {"RAG_GENERATOR": "openai", "RAG_OPENAI_BASE_URL": double.url}
        asked = run("ask", QUESTION, "--json", **model)
    answer = asked.json()
    assert (answer["mode"], answer["degraded"]) == ("extractive", ["generator"])
    (line,) = asked.err.splitlines()
    assert "[error] step.failed" in line
    assert "code=provider_auth status=401" in line


def test_blocks_and_chunks_are_json_lines_with_their_spans(run: Run, tiny: Path) -> None:
    *blocks, last = run("blocks", tiny, "--coverage", "--json").lines()
    assert last["coverage"] == 1.0
    for block in blocks:
        source = LAMPS[block["file"]]
        assert block["text"].split()[0] in source[block["start"] : block["end"]]
    for chunk in run("chunks", tiny, "--json").lines():
        source = "".join(LAMPS[chunk["file"]][start:end] for start, end in chunk["spans"])
        assert all(word in source for word in chunk["text_content"].split())


WRONG = {
    "": "Missing command; see `textbook-rag --help`",
    "zzzz": "No such command 'zzzz'; see `textbook-rag --help`",
    "serch owls": "Did you mean 'search'",
    "search": "Missing argument 'QUESTION'; see `textbook-rag search --help`",
    "search lamp": "run `textbook-rag ingest",
    "search x --bok tiny": "--bok (Possible options: --book",
    "search x --limit 1": "--limit; see `textbook-rag search --help`",
    "keys add": "needs the origins",
    "keys add --origin book.example": "'book.example' is not an origin",
    "keys add x": "(x); see `textbook-rag keys add --help`",
    "ask lamp --book other": "no book is indexed",
    "ask hi --book other": "no book is indexed",
    "ask ' '": "ask with at least one word",
    "search Why? --k many": "'--k': Input should be a valid integer",
    "search Why? --k 101": "'--k': Input should be less than or equal to 100",
    f"ask {'x' * 20_000}": "the question is too long: at most 4,000",
    "serve --port 99999": "'--port': Input should be less than or equal to 65535",
    "ingest nowhere": "nowhere: ",
    "ingest none.zip": "none.zip: no such file or folder",
    "ingest empty": "empty: ",
    "ingest latin": "page.md:3: not UTF-8",
    f"ingest {'long' * 1_000}": "long: ",  # too long; from Python 3.14 on, no such file
    "ingest tiny --base-url notaurl": "address 'notaurl': ",
    "ingest ftp://e.org": "address 'ftp://e.org': not an http or https URL",
    "ingest tiny --strategy magic": "'magic'",
    "ingest tiny --site word": "'docusaurus', 'mdbook', 'mkdocs', 'myst', 'plain'",
    "ingest tiny --exclude-kinds poem": "unknown kind in 'poem'",
    "ingest tiny --book ../up": "book id '../up'",
    "ingest nothing --book tiny": "textbook-rag-ledger.jsonl: no paragraph ids",
    "eval none.jsonl": "none.jsonl: ",
    "search light --book ../embeddings": "book id '../embeddings'",
    "ask light --book ../embeddings": "book id '../embeddings'",
    "remove ../index": "book id '../index'",
    "links ../embeddings --ledger": "book id '../embeddings'",
    "links tiny --ledger": "no ledger for book 'tiny'",
    "ingest ''": "'PATH': empty: name a folder",
    "stamp ''": "'SITE_DIR': empty: name a folder",
    "restore none.zip": "'FILE': file 'none.zip' does not exist",
    "restore tiny": "'FILE': file 'tiny' is a directory",
    "verify": "no book is indexed yet",
    "backup new.zip": "no book is indexed yet",
    "backup none/x.zip": "none/x.zip: cannot be written",
    "backup tiny": "tiny: exists already",
    "backup pipe": "pipe: exists already",
}
"""What is typed, and what the last line on stderr says."""


@pytest.mark.parametrize("line", WRONG)
def test_wrong_input_is_one_clear_line(line: str, run: Run, tiny: Path) -> None:
    for name in ("empty", "latin", "nothing"):
        (tiny.parent / name).mkdir()
    (tiny.parent / "latin" / "page.md").write_bytes(b"# Title\n\ncaf\xe9\n")
    (tiny.parent / "nothing" / "textbook-rag-ledger.jsonl").write_text("\n")
    os.mkfifo(tiny.parent / "pipe")
    assert WRONG[line] in run(*shlex.split(line)).refusal()
    assert not (tiny.parent / "state/index").exists()
    assert not (tiny.parent / "new.zip").exists()


def test_rag_toml_has_the_books_strategy_and_sizes(run: Run, tiny: Path) -> None:
    (tiny / "rag.toml").write_text("strategy = 'fixed'\n[fixed]\nsize = 80\noverlap = 10\n")
    fixed = run("chunks", tiny).lines()
    assert len(fixed) > 1
    assert all(len(chunk["text_content"]) <= 80 for chunk in fixed)
    assert run("chunks", tiny, "--strategy", "fixed").lines() == fixed
    assert len(run("chunks", tiny, "--strategy", "structure").lines()) < len(fixed)


WRONG_SETTINGS = {
    "size = 3": "rag.toml: size: the settings are strategy, structure, fixed",
    "[fixde]\nsize = 100": "rag.toml: fixde: the settings are strategy, structure, fixed",
    "fixed = [1]": "rag.toml: fixed: Input should be",
    "strategy = 'magic'": "rag.toml: strategy: Input should be 'structure', 'fixed'",
    "[fixed]\nsizes = 100": "rag.toml: fixed.sizes: the settings are size, overlap",
    "fixed.size = 100": "rag.toml: fixed: the settings need 0 <= overlap < size",
    "structure.high = 'x'": "rag.toml: structure.high: Input should be a valid integer",
    "structure.low = 900": "rag.toml: structure: the settings need 0 <= minimum <= low <=",
    "structure.minimum = -5": "rag.toml: structure: the settings need 0 <= minimum",
    "structure.overlap = 500": "rag.toml: structure: the settings need 0 <= overlap < high",
    "semantic.percentile = 101": "rag.toml: semantic: the settings need 0 <= percentile <= 100",
    "recursive.separators = 'book'": "rag.toml: recursive.separators: Input should be 'text'",
    "a = [1,\n": "rag.toml:2: not valid TOML",
}


@pytest.mark.parametrize("text", WRONG_SETTINGS)
def test_a_wrong_rag_toml_is_one_line_with_the_setting(run: Run, tiny: Path, text: str) -> None:
    (tiny / "rag.toml").write_text(text)
    refused = run("chunks", tiny)
    assert WRONG_SETTINGS[text] in refused.refusal()
    assert refused.err.count("\n") == 1


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"textbook-rag {metadata.version('textbook-rag')}\n"


MAIN = "from app.cli import main; main({})"
UNUSED = {
    MAIN.format(["--help"]): "pydantic rich app.settings app.bootstrap",
    MAIN.format(["serve", "--help"]): "rich.progress app.bootstrap.storage fastapi uvicorn",
    MAIN.format(["search", "--help"]): "rich.progress app.bootstrap.application fastapi",
    MAIN.format(["blocks", "page.md"]): "cohere qdrant_client fastapi httpx numpy",
    MAIN.format(["ask", "Why?"]): "cohere aiohttp httpx qdrant_client fastapi",
    "import app.bootstrap.application, app.main": "cohere aiohttp httpx qdrant_client",
}
"""Packages that are not loaded after a program and those before it."""


def test_what_a_command_does_not_use_is_not_loaded(home: Path) -> None:
    """It would take up to a second of every start."""
    (home / "page.md").write_text("# Owls\n\nOwls hunt at night.\n")
    steps = "".join(
        f"{program}\nfound += [one for one in {unused.split()} if one in sys.modules]\n"
        for program, unused in UNUSED.items()
    )
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\nfound = []\n{steps}print(found)"],
        cwd=home,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_an_output_that_cannot_be_written_is_one_line() -> None:
    command = [sys.executable, "-m", "app.cli", "--version"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "textbook-rag: No space left on device\n")


def test_a_reader_that_stops_early_ends_the_command_quietly(tiny: Path) -> None:
    (tiny / "long.md").write_text("# Long\n\n" + "A lamp gives light.\n\n" * 1_000)
    command = [sys.executable, "-m", "app.cli", "blocks", str(tiny)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout
        assert running.stderr
        running.stdout.readline()
        running.stdout.close()
        assert running.stderr.read() == b""


def test_an_interrupted_command_is_one_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: Settings) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("app.cli.books.open_index", interrupted)
    result = run("books")
    assert (result.code, result.out) == (130, "")
    assert result.err == "textbook-rag: stopped; no book is half-written\n"


@pytest.mark.parametrize("command", ["ask hi", "ask Why?", "search lamp", "books", "links owls"])
def test_without_a_book_the_searched_folder_is_named(run: Run, home: Path, command: str) -> None:
    told = run(*command.split())
    assert (told.code, told.out) == (0 if command == "books" else 2, "")
    assert "no book is indexed yet" in told.err
    assert str(home.resolve() / "state") in told.err


def test_a_book_without_an_address_is_warned_of(run: Run, tiny: Path) -> None:
    for _ in range(2):  # also when nothing has changed
        warned = run("ingest", tiny)
        assert "warning: no --base-url" in warned.err
        assert "  warnings  1; " in warned.out
    assert "no --base-url" in run("ingest", tiny, "--json").json()["warnings"][0]
    assert "no --base-url" not in run("ingest", tiny, "--base-url", "https://tiny.example").err


@pytest.mark.parametrize(
    ("typed", "options", "code"),
    [("n\n", [], 1), ("\n", [], 1), ("", [], 1), ("y\n", [], 0), ("", ["--yes"], 0)],
)
@pytest.mark.usefixtures("state")
def test_remove_asks_on_a_terminal(
    run: Run, monkeypatch: pytest.MonkeyPatch, typed: str, options: list[str], code: int
) -> None:
    terminal = io.StringIO(typed)
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", terminal)
    assert run("remove", "owls", *options).code == code
    assert (run("books", "--json").out == "[]\n") == (code == 0)


COMPLETED = {
    "textbook-rag r": "remove rollback restore report",
    "textbook-rag keys ": "add list revoke",
    "textbook-rag links owls --": "--ledger --check --help",
    "textbook-rag blocks . --site m": "mdbook mkdocs myst",
}


@pytest.mark.parametrize("words", COMPLETED)
def test_a_shell_completes_commands_options_and_values(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    monkeypatch.setenv("_TEXTBOOK_RAG_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
    with pytest.raises(SystemExit):
        main([])
    assert set(capsys.readouterr().out.split()) == set(COMPLETED[words].split())
