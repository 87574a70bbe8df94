"""What is recorded of a request: stages, failures, units."""

from __future__ import annotations

import asyncio

from app.domain.answer import Finished
from app.domain.answering.request import AskRequest
from app.domain.cost import Units
from app.domain.errors import ProviderUnavailable
from app.services.recording import billed, current, looked_up, recording, stage
from tests.answer_fakes import FakeGenerator, World, passage


def test_stages_add_up_and_do_not_overlap() -> None:
    with recording("r1") as record:
        for _ in range(2):
            with stage("search"), stage("fetch"):
                pass
        with stage("fetch"):
            pass
    assert list(record.stages) == ["search", "fetch"]
    assert sum(record.stages.values()) <= record.ms


def test_a_stage_that_fails_is_recorded_too() -> None:
    with recording() as record:
        try:
            with stage("search"):
                raise ValueError
        except ValueError:
            pass
        with stage("fetch"):
            pass
    assert list(record.stages) == ["search", "fetch"]


def test_nothing_is_recorded_outside_a_request() -> None:
    with stage("search"):
        billed(Units(1), 0.1)
        looked_up("vectors", hit=True)
    assert not current().spans


def test_tasks_of_a_request_share_its_recording() -> None:
    async def step(name: str) -> None:
        with stage(name):
            await asyncio.sleep(0)

    async def scenario() -> list[str]:
        with recording() as record:
            await asyncio.create_task(step("search"))
        return list(record.stages)

    assert asyncio.run(scenario()) == ["search"]


def test_the_recording_of_an_answer_is_complete_at_its_end() -> None:
    failure = ProviderUnavailable("the model could not answer (HTTP 503)", status=503)
    world = World(
        (passage("Photosynthesis turns light energy into chemical energy.", "p"),)
    ).answering(FakeGenerator([failure]))

    async def scenario() -> None:
        with recording("r2") as record:
            async for event in world.stream(
                AskRequest("What does photosynthesis turn light energy into?")
            ):
                if isinstance(event, Finished):
                    assert record.answer is event.answer
                    assert {"search", "answerability", "generation"} <= set(record.stages)
                    (failed,) = record.failures
                    assert (failed.step, failed.status) == ("generator", 503)

    asyncio.run(scenario())
