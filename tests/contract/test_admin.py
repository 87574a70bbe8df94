"""Books by HTTP for their owner: upload, progress, rollback, removal, with a secret key only."""

import io
import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.api import ingest_jobs
from app.api.ingest_jobs import give_way
from app.settings import Settings
from tests.command_line import Run, write_files
from tests.owl_server import BOOK, ORIGIN, added, assert_problem, bearer
from tests.serving import connected, offline_settings

BATS = BOOK.replace("owl", "bat").replace("Owl", "Bat")
PHASES = ("", "read", "chunk", "compare", "embed", "index", "publish")
"""Phases of an ingest, in order."""


@pytest.fixture
def settings(state: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings with a relative home."""
    # Other tests are no readers.
    monkeypatch.setattr(ingest_jobs, "give_way", lambda _: None)
    monkeypatch.chdir(state.parent)
    return offline_settings(Path(state.name))


@pytest.fixture
def admin(settings: Settings, run: Run) -> Iterator[httpx.Client]:
    """A client with a secret key."""
    with connected(settings) as client:
        client.base_url = client.base_url.join("/v1/admin/books")
        client.headers.update(bearer(added(run, "--secret")))
        yield client


def archive(**files: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name, text in files.items():
            file.writestr(name.replace("__", "/") + ".md", text)
    return out.getvalue()


UPLOAD = archive(bats=BATS)


def ended(admin: httpx.Client, book: str) -> dict[str, Any]:
    """Return the last state of the book's ingest; its phases are in order."""
    phases = [""]
    while (state := admin.get(f"/{book}/ingest").raise_for_status().json())["state"] == "running":
        phases.append((state["progress"] or {}).get("phase", ""))
        time.sleep(0.02)
    assert phases == sorted(phases, key=PHASES.index)
    found: dict[str, Any] = state
    return found


def ingested(admin: httpx.Client, book: str, content: bytes, address: str = "") -> dict[str, Any]:
    response = admin.post(f"/{book}/ingest", params={"base_url": address}, content=content)
    assert (response.status_code, response.json()["state"]) == (202, "running")
    return ended(admin, book)


def search(admin: httpx.Client, book: str) -> int:
    url = admin.base_url.copy_with(path="/v1/search")
    return admin.post(url, json={"question": "claw", "book": book}).status_code


def test_an_uploaded_book_is_ingested_with_progress_and_goes_back(
    admin: httpx.Client, settings: Settings, run: Run
) -> None:
    changed = BATS.replace("are large tubes", "are very large tubes")
    done = ingested(admin, "bats", archive(bats=changed), "https://bats.example")
    assert (done["state"], done["report"]["book"], done["error"]) == ("done", "bats", None)
    assert search(admin, "bats") == 200
    ledger = admin.get("/bats/ledger").text
    assert ledger == run("links", "bats", "--ledger").out
    assert_problem(admin.get("/mice/ledger"), 404, "book_not_found")
    assert_problem(admin.post("/bats/rollback"), 422, "invalid_input")

    # The ids go on by the ledger in the archive.
    (settings.home / "ledger/bats.sqlite").unlink()
    out = io.BytesIO(UPLOAD)
    with zipfile.ZipFile(out, "a") as file:
        file.writestr("textbook-rag-ledger.jsonl", ledger)
    assert admin.post("/bats/ingest", content=out.getvalue()).status_code == 202
    for book in ("bats", "mice"):
        assert_problem(admin.post(f"/{book}/ingest", content=UPLOAD), 409, "index_busy")
    assert ended(admin, "bats")["report"]["generation"] == 2
    assert list((settings.home / "uploads").iterdir()) == []
    assert ids_of(ledger) <= ids_of(admin.get("/bats/ledger").text)

    assert admin.post("/bats/rollback").json()["book"] == "bats"
    assert admin.delete("/bats").status_code == 204
    assert search(admin, "bats") == 404
    assert_problem(admin.delete("/bats"), 404, "book_not_found")


def ids_of(ledger: str) -> set[str]:
    entries = map(json.loads, ledger.splitlines())
    return {one["paragraph_id"] for one in entries if one.get("live")}


def test_a_refused_archive_changes_nothing(admin: httpx.Client, settings: Settings) -> None:
    assert_problem(admin.post("/owls/ingest"), 422, "invalid_input")
    outside = archive(**{"..__up": "x"})
    failed = ingested(admin, "owls", outside)
    assert (failed["state"], failed["error"]["code"]) == ("failed", "invalid_input")
    assert "the archive is refused" in failed["error"]["message"]
    assert search(admin, "owls") == 200
    assert list((settings.home / "uploads").iterdir()) == []
    assert not (settings.home.parent / "up.md").exists()


def test_a_large_archive_is_refused(
    admin: httpx.Client, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.api.security.MAX_ARCHIVE_BYTES", 2**20)
    assert_problem(admin.post("/bats/ingest", content=bytes(2**20 + 1)), 413, "body_too_large")

    def parts() -> Iterator[bytes]:
        for _ in range(20):
            yield bytes(2**16)

    assert_problem(admin.post("/bats/ingest", content=parts()), 413, "body_too_large")
    assert list((settings.home / "uploads").iterdir()) == []
    assert_problem(admin.get("/bats/ingest"), 404, "ingest_not_found")


def test_an_ingest_whose_process_is_killed_says_so_and_changes_nothing(
    admin: httpx.Client, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[int, int]] = []
    cores = len(os.sched_getaffinity(0))

    def killed(pid: int) -> None:
        give_way(pid)
        seen.append((os.sched_getscheduler(pid), len(os.sched_getaffinity(pid))))
        os.kill(pid, signal.SIGKILL)

    monkeypatch.setattr(ingest_jobs, "give_way", killed)
    failed = ingested(admin, "owls", UPLOAD)
    assert (failed["state"], failed["error"]["code"]) == ("failed", "storage_failed")
    assert "ended with status -9 and no result" in failed["error"]["message"]
    assert seen == [(os.SCHED_IDLE, cores - cores // 2)]  # it gives way to readers
    assert search(admin, "owls") == 200
    assert list((settings.home / "uploads").iterdir()) == []


def test_the_end_of_the_server_ends_its_ingest(settings: Settings, run: Run) -> None:
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    before = children.read_text().split()
    left = settings.home / "uploads/left-by-a-killed-server"
    left.mkdir(parents=True)
    os.utime(left, (0, 0))
    with connected(settings) as client:
        client.headers.update(bearer(added(run, "--secret")))
        assert client.post("/v1/admin/books/bats/ingest", content=UPLOAD).status_code == 202
    assert children.read_text().split() == before
    assert list((settings.home / "uploads").iterdir()) == []


def test_an_ingest_whose_server_is_killed_ends(settings: Settings, tmp_path: Path) -> None:
    folder = write_files(tmp_path / "bats", {"bats.md": BATS})
    reader, writer = os.pipe()
    os.close(reader)
    ended = subprocess.run(
        [sys.executable, "-m", "app.cli", "ingest", folder, "--book", "bats", "--json"],
        env={**os.environ, **settings.as_environment()},
        stdout=writer,
        stderr=writer,
        check=False,
        timeout=60,
    )
    os.close(writer)
    assert ended.returncode >= 0
    assert not list((settings.home / "index/bats").glob("*.manifest"))


def test_admin_needs_the_books_secret_key(
    settings: Settings, admin: httpx.Client, run: Run
) -> None:
    public, other = added(run, "--origin", ORIGIN), added(run, "--secret", "--book", "bats")
    calls = [("POST", "ingest"), ("GET", "ingest"), ("POST", "rollback"), ("GET", "ledger")]
    for method, path in [*calls, ("DELETE", "")]:
        url = f"{admin.base_url}owls/{path}".rstrip("/")
        assert_problem(httpx.request(method, url), 401, "key_required")
        wrong = bearer("sk_0")
        assert_problem(httpx.request(method, url, headers=wrong), 401, "key_unknown")
        from_site = bearer(public, Origin=ORIGIN)
        assert_problem(httpx.request(method, url, headers=from_site), 403, "secret_key_required")
        of_bats = bearer(other)
        assert_problem(httpx.request(method, url, headers=of_bats), 403, "book_not_allowed")


@pytest.mark.parametrize("open", [True, False])
def test_without_keys_nobody_administers(owl_home: Path, open: bool) -> None:
    with connected(offline_settings(owl_home, open=open)) as client:
        response = client.delete("/v1/admin/books/owls")
        assert_problem(response, 401, "key_required")
        assert response.headers["www-authenticate"].startswith("Bearer")
