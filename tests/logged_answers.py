"""Reads, adds and deletes logged answers."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from app.bootstrap.storage import question_store
from app.domain.logged_answer import LoggedAnswer
from app.services.question_log import Selected
from app.settings import Settings

T = TypeVar("T")


def found(settings: Settings, selected: Selected = Selected()) -> list[LoggedAnswer]:  # noqa: B008
    return _done(question_store(settings).find(selected))


def fill(settings: Settings, answers: Sequence[LoggedAnswer]) -> None:
    _done(question_store(settings).add(answers))


def deleted(settings: Settings, selected: Selected) -> int:
    return _done(question_store(settings).delete(selected))


def _done(work: Coroutine[Any, Any, T]) -> T:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()
