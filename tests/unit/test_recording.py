"""What is recorded of a request."""

from __future__ import annotations

from app.services.recording import recording, stage


def test_stages_add_up_and_do_not_overlap() -> None:
    with recording("r1") as record:
        for _ in range(2):
            with stage("search"), stage("fetch"):
                pass
        with stage("fetch"):
            pass
    assert list(record.seconds) == ["search", "fetch"]
    assert sum(record.seconds.values()) * 1e3 <= record.ms
