"""Books by HTTP for their owner: upload, progress, rollback, removal, with a secret key only."""

from __future__ import annotations

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

import httpx
import pytest

from app.api import ingest_jobs
from app.api.ingest_jobs import give_way
from app.settings import Settings
from tests.command_line import Run
from tests.owl_server import BOOK, ORIGIN, added, assert_problem, bearer, events_of
from tests.serving import offline_settings, serving

STREAM = {"Accept": "text/event-stream"}
BATS = BOOK.replace("owl", "bat").replace("Owl", "Bat")
PHASES = ("", "read", "chunk", "compare", "embed", "index", "publish")
"""Phases of an ingest, in order."""


@pytest.fixture
def settings(state: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    # Other tests are no readers.
    monkeypatch.setattr(ingest_jobs, "give_way", lambda _: None)
    return offline_settings(state)


@pytest.fixture
def admin(settings: Settings, run: Run) -> Iterator[httpx.Client]:
    """A client with a secret key."""
    with (
        serving(settings) as address,
        httpx.Client(base_url=f"{address}/v1/admin/books", timeout=60) as client,
    ):
        client.headers.update(bearer(added(run, "--secret")))
        yield client


def archive(**files: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name, text in files.items():
            file.writestr(name.replace("__", "/") + ".md", text)
    return out.getvalue()


UPLOAD = archive(bats=BATS)


def search(admin: httpx.Client, book: str) -> int:
    url = admin.base_url.copy_with(path="/v1/search")
    return admin.post(url, json={"question": "claw", "book": book}).status_code


def test_an_uploaded_book_is_ingested_with_progress(admin: httpx.Client) -> None:
    response = admin.post(
        "/bats/ingest?base_url=https://bats.example", content=archive(bats=BATS), headers=STREAM
    )
    assert response.status_code == 200, response.text
    events = events_of(response)
    assert {name for name, _ in events[:-1]} == {"progress"}
    # A follower sees the latest state, so a phase that ends at once may be missed.
    phases = list(dict.fromkeys(data["phase"] for _, data in events[:-1]))
    assert len(phases) > 1
    assert phases == sorted(phases, key=PHASES.index)
    name, data = events[-1]
    assert (name, data["state"], data["report"]["book"]) == ("done", "done", "bats")
    assert data["report"]["generation"] == 1
    assert search(admin, "bats") == 200
    state = admin.get("/bats/ingest").json()
    assert (state["state"], state["report"]["chunks"]) == ("done", data["report"]["chunks"])
    assert [name for name, _ in events_of(admin.get("/bats/ingest", headers=STREAM))] == ["done"]


def test_an_ingest_runs_on_without_its_client(admin: httpx.Client, settings: Settings) -> None:
    started = admin.post("/bats/ingest", content=UPLOAD)
    assert (started.status_code, started.json()["state"]) == (202, "running")
    events = events_of(admin.get("/bats/ingest", headers=STREAM))
    assert events[-1][0] == "done"
    assert list((settings.home / "uploads").iterdir()) == []
    assert_problem(admin.post("/owls/ingest"), 422, "invalid_input")


def test_one_ingest_runs_at_a_time(admin: httpx.Client) -> None:
    assert admin.post("/bats/ingest", content=UPLOAD).status_code == 202
    assert_problem(admin.post("/bats/ingest", content=UPLOAD), 409, "index_busy")
    assert_problem(admin.post("/mice/ingest", content=archive(a=BATS)), 409, "index_busy")
    assert events_of(admin.get("/bats/ingest", headers=STREAM))[-1][0] == "done"
    assert admin.post("/bats/ingest", content=UPLOAD).status_code == 202


@pytest.mark.parametrize(
    "content", [b"no archive", archive(**{"..__up": "x"})], ids=["bytes", ".."]
)
def test_a_refused_archive_changes_nothing(
    admin: httpx.Client, settings: Settings, content: bytes
) -> None:
    events = events_of(admin.post("/owls/ingest", content=content, headers=STREAM))
    name, data = events[-1]
    assert (name, data["error"]["code"]) == ("failed", "invalid_input")
    assert "the archive is refused" in data["error"]["message"]
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


def test_uploads_that_a_killed_server_left_are_removed_after_a_day(
    admin: httpx.Client, settings: Settings
) -> None:
    uploads = settings.home / "uploads"
    for name, hours in (("old", 25), ("young", 23)):
        (uploads / name).mkdir(parents=True)
        (uploads / name / "archive").write_bytes(b"left")
        at = time.time() - 3_600 * hours
        os.utime(uploads / name, (at, at))
    events_of(admin.post("/bats/ingest", content=archive(bats=BATS), headers=STREAM))
    assert [one.name for one in uploads.iterdir()] == ["young"]


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
    name, data = events_of(admin.post("/owls/ingest", content=UPLOAD, headers=STREAM))[-1]
    assert (name, data["error"]["code"]) == ("failed", "storage_failed")
    assert "ended with status -9 and no result" in data["error"]["message"]
    assert seen == [(os.SCHED_IDLE, cores - cores // 2)]  # it gives way to readers
    assert search(admin, "owls") == 200
    assert list((settings.home / "uploads").iterdir()) == []


def test_the_end_of_the_server_ends_its_ingest(settings: Settings, run: Run) -> None:
    with serving(settings) as address:
        headers = bearer(added(run, "--secret"))
        url = f"{address}/v1/admin/books/bats/ingest"
        assert httpx.post(url, content=UPLOAD, headers=headers).status_code == 202
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    assert not children.read_text().split()
    assert list((settings.home / "uploads").iterdir()) == []


def test_an_ingest_whose_server_is_killed_ends(settings: Settings, tmp_path: Path) -> None:
    folder = tmp_path / "bats"
    folder.mkdir()
    (folder / "bats.md").write_text(BATS, "utf-8")
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
    assert not (settings.home / "index/bats/current").exists()


def test_an_archive_below_a_relative_home_is_ingested(
    settings: Settings, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = bearer(added(run, "--secret"), **STREAM)
    monkeypatch.chdir(settings.home.parent)
    with serving(settings.model_copy(update={"home": Path("state")})) as address:
        url = f"{address}/v1/admin/books/bats/ingest"
        events = events_of(httpx.post(url, content=UPLOAD, headers=headers, timeout=60))
    assert events[-1][0] == "done"
    assert (settings.home / "index/bats/current").exists()


def test_rollback_and_removal(admin: httpx.Client) -> None:
    assert_problem(admin.post("/owls/rollback"), 422, "invalid_input")
    changed = BOOK.replace("Threads at an edge", "Fine threads")
    done = admin.post(
        f"/owls/ingest?base_url={ORIGIN}&site=plain", content=archive(owls=changed), headers=STREAM
    )
    assert events_of(done)[-1][1]["report"]["generation"] == 2
    assert admin.post("/owls/rollback").json()["id"] == "owls"
    assert admin.delete("/owls").status_code == 204
    assert search(admin, "owls") == 404
    assert_problem(admin.delete("/owls"), 404, "book_not_found")


def test_a_ledger_in_the_archive_carries_the_ids_on(
    admin: httpx.Client, settings: Settings, run: Run
) -> None:
    first = BATS.replace("are large tubes", "are very large tubes")
    admin.post("/bats/ingest", content=archive(bats=first), headers=STREAM)
    ledger = admin.get("/bats/ledger").text
    assert ledger == run("links", "bats", "--ledger").out
    assert_problem(admin.get("/mice/ledger"), 404, "book_not_found")
    (settings.home / "ledger/bats.sqlite").unlink()
    out = io.BytesIO(archive(bats=BATS))
    with zipfile.ZipFile(out, "a") as file:
        file.writestr("textbook-rag-ledger.jsonl", ledger)
    admin.post("/bats/ingest", content=out.getvalue(), headers=STREAM)
    assert ids_of(ledger) <= ids_of(admin.get("/bats/ledger").text)


def ids_of(ledger: str) -> set[str]:
    entries = map(json.loads, ledger.splitlines())
    return {one["paragraph_id"] for one in entries if one.get("live")}


def test_admin_needs_a_secret_key_for_the_book(
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
    with serving(offline_settings(owl_home, open=open)) as address:
        response = httpx.delete(f"{address}/v1/admin/books/owls")
        assert_problem(response, 401, "key_required")
        assert response.headers["www-authenticate"].startswith("Bearer")
