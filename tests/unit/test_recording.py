"""What is recorded of a request: stages, failures, units."""

from __future__ import annotations

from app.domain.cost import Units
from app.services.recording import billed, current, recording, stage


def test_stages_add_up_and_do_not_overlap() -> None:
    with recording("r1") as record:
        for _ in range(2):
            with stage("search"), stage("fetch"):
                pass
        with stage("fetch"):
            pass
    assert list(record.seconds) == ["search", "fetch"]
    assert sum(record.seconds.values()) * 1e3 <= record.ms


def test_a_stage_that_fails_is_recorded_too() -> None:
    with recording() as record:
        try:
            with stage("search"):
                raise ValueError
        except ValueError:
            pass
        with stage("fetch"):
            pass
    assert list(record.seconds) == ["search", "fetch"]


def test_nothing_is_recorded_outside_a_request() -> None:
    with stage("search"):
        billed(Units(1), 0.1)
    assert not current().seconds
