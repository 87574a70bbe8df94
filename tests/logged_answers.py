"""Reads, adds and deletes logged answers."""

from __future__ import annotations

from collections.abc import Sequence

from app.bootstrap.storage import question_store
from app.domain.logged_answer import LoggedAnswer
from app.services.question_log import Selected
from app.settings import Settings
from tests.serving import in_thread


def found(settings: Settings) -> list[LoggedAnswer]:
    return in_thread(question_store(settings).find(Selected()))


def fill(settings: Settings, answers: Sequence[LoggedAnswer]) -> None:
    in_thread(question_store(settings).add(answers))


def deleted(settings: Settings, selected: Selected) -> int:
    return in_thread(question_store(settings).delete(selected))
