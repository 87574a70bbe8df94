"""`verify`, what an ingest mends, what a server says of damage, and one that is started again."""

import os
from pathlib import Path

import httpx
import pytest

from app.domain.identity import content_id
from tests.command_line import Run
from tests.ingesting import edit, make_book, prose
from tests.owl_server import assert_problem
from tests.serving import connected, ingested


def generation(home: Path, book: str, number: int) -> Path:
    return home / "index" / book / f"{number:06d}"


def damage(home: Path, book: str, number: int) -> Path:
    """Empty the table of ids: a search then finds nothing."""
    (path,) = generation(home, book, number).rglob("*.mappings")
    os.truncate(path, 0)
    return path


def test_verify_finds_nothing_where_nothing_is_wrong(run: Run, tmp_path: Path) -> None:
    book = make_book(tmp_path / "lamps", 1)
    assert run("ingest", book).code == 0
    done = run("verify")
    assert (done.code, done.err) == (0, "")
    shared = ["keys.sqlite", "questions.sqlite", "spending.sqlite", "embeddings.sqlite"]
    assert done.out == "".join(
        f"{one}: sound\n" for one in ["lamps index", "lamps ledger", *shared]
    )
    rows = run("verify", "lamps", "--json").lines()
    assert [(row["book"], row["part"], row["sound"]) for row in rows] == [
        ("lamps", "index", True),
        ("lamps", "ledger", True),
        *(("", name, True) for name in shared),
    ]
    unknown = run("verify", "other").refusal()
    assert "no book 'other' in the index; there are: lamps" in unknown


def test_ingest_mends_what_is_damaged_though_nothing_changed(
    run: Run, home: Path, tmp_path: Path
) -> None:
    book = make_book(tmp_path / "lamps", 1)
    whole = run("ingest", book, "--json").json()
    path, where = damage(home / "state", "lamps", 1), generation(home / "state", "lamps", 1)
    done = run("verify")
    assert done.code == 1
    assert f"{where}: not as it was published: {path.relative_to(where)}" in done.out
    assert "ingest BOOK_DIR`" in done.err
    dry = run("ingest", book, "--dry-run", "--json")
    assert (dry.json()["unchanged"], dry.json()["embedded"]) == (False, 0)
    done = run("ingest", book)
    assert f"damaged, written anew: {where}: not as it was published" in done.err
    assert "published as generation 2" in done.out
    assert run("verify").code == 0
    after = run("ingest", book, "--json").json()
    assert (after["unchanged"], after["generation"], after["faults"]) == (True, 2, [])
    assert after["chunks"] == whole["chunks"]


def test_a_rollback_goes_back_before_the_damage(run: Run, home: Path, tmp_path: Path) -> None:
    book = make_book(tmp_path / "lamps", 1)
    run("ingest", book)
    edit(book / "page0.md", "Page0 part0", "Newer words")
    run("ingest", book)
    damage(home / "state", "lamps", 2)
    assert "Page0 part0" in run("search", "page0 part0", "--json").out
    assert "lamps index: damaged" in run("verify").out
    assert "back to generation 1" in run("rollback", "lamps").out
    assert run("verify").code == 0
    assert run("rollback", "lamps").code == 2
    assert run("ingest", book, "--json").json()["generation"] == 3
    assert "Newer words" in run("search", "newer words", "--json").out
    assert run("verify").code == 0
    damage(home / "state", "lamps", 1)
    assert "lamps generation before: damaged" in run("verify").out
    assert "not as it was published" in run("rollback", "lamps").refusal(1)


def test_a_damaged_ledger_or_cache_stops_an_ingest_with_what_to_do(
    run: Run, home: Path, tmp_path: Path
) -> None:
    book = make_book(tmp_path / "lamps", 1)
    run("ingest", book)
    edit(book / "page0.md", "Page0 part0", "Newer words")
    for file, advice, content in (
        ("ledger/lamps.sqlite", "textbook-rag-ledger.jsonl", b""),
        ("embeddings.sqlite", "delete", b"garbage" * 1_000),
    ):
        path = home / "state" / file
        kept = path.read_bytes()
        path.write_bytes(content)
        for command in (("ingest", book), ("verify",)):
            done = run(*command)
            assert done.code == 1
            told = done.err.splitlines()[-1] if command[0] == "ingest" else done.out
            assert str(path) in told
            assert advice in told
        assert run("search", "page0 part0").code == 0
        path.write_bytes(kept)
    assert run("ingest", book).code == 0


def test_damaged_pages_are_named(run: Run, home: Path, tmp_path: Path) -> None:
    run("ingest", make_book(tmp_path / "lamps", 1))
    path = home / "state/pages/lamps.zip"
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 1
    path.write_bytes(content)
    done = run("verify")
    assert done.code == 1
    assert "lamps pages: damaged" in done.out


@pytest.mark.parametrize("name", ["keys", "questions", "spending"])
def test_a_damaged_shared_file_is_named(run: Run, home: Path, name: str) -> None:
    path = home / "state" / f"{name}.sqlite"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"garbage" * 1_000)
    done = run("verify")
    assert done.code == 1
    assert f"{path}: the " in done.out
    assert "is damaged (file is not a database)" in done.out
    assert f"damaged: {path}: " in run("backup", home / "new.zip").err


def test_the_other_books_answer_and_the_damaged_one_is_named(home: Path, tmp_path: Path) -> None:
    for name in ("lamps", "ships"):
        folder = make_book(tmp_path / name, 2)
        settings = ingested(home, folder, base_url=f"https://{name}")
    damage(home, "lamps", 1)
    with connected(settings) as client:
        assert_the_other_answers(client, home)


def assert_the_other_answers(client: httpx.Client, home: Path) -> None:
    question = {"question": "page0 part0"}
    found = client.post("/v1/search", json=question).json()
    assert {hit["book"] for hit in found["hits"]} == {"ships"}
    assert found["degraded"] == ["book:lamps"]
    answer = client.post("/v1/chat", json=question).json()
    assert answer["degraded"] == ["book:lamps"]
    ready = client.get("/readyz").json()
    assert (ready["books"], ready["quarantined"]) == (["ships"], ["lamps"])
    books = client.get("/v1/books")
    assert [one["book"] for one in books.json()["books"]] == ["ships"]
    assert books.json()["quarantined"] == ["lamps"]
    assert str(home) not in books.text
    for path in ("/v1/search", "/v1/chat"):
        refused = client.post(path, json={**question, "book": "lamps"})
        assert_problem(refused, 503, "storage_failed")
    own = client.post("/v1/search", json={**question, "book": "ships"}).json()
    assert own["degraded"] == []
    assert client.get("/v1/glossary?page=/page0").status_code == 200
    assert client.get("/v1/glossary?page=/nowhere&book=ships").status_code == 404
    assert client.get("/v1/glossary?page=/nowhere").status_code == 503
    # The ledger knows the page of a paragraph that the index cannot give.
    pid = content_id(prose("page0 part0"))
    cited = client.get(f"/cite/{pid}?book=lamps", follow_redirects=False)
    assert cited.status_code == 302
    assert cited.headers["location"].startswith("https://lamps")


def test_a_server_started_on_a_damaged_generation_answers_from_the_one_before(
    home: Path, tmp_path: Path
) -> None:
    folder = make_book(tmp_path / "lamps", 1)
    ingested(home, folder)
    edit(folder / "page0.md", "Page0 part0", "Newer words")
    settings = ingested(home, folder)
    (vectors,) = generation(home, "lamps", 2).rglob("chunk_0.mmap")
    os.truncate(vectors, 0)  # a search would end the process by SIGBUS
    with connected(settings) as client:
        assert client.get("/readyz").json()["previous"] == ["lamps"]
        found = client.post("/v1/search", json={"question": "page0 part0"}).json()
        assert found["degraded"] == ["generation:lamps"]
        assert any("Page0 part0" in hit["text"] for hit in found["hits"])
