"""Reads and deletes logged answers."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

from app.bootstrap.local_state import question_store
from app.domain.logged_answer import LoggedAnswer
from app.services.question_log import Selected
from app.settings import Settings


def found(settings: Settings, selected: Selected = Selected()) -> list[LoggedAnswer]:  # noqa: B008
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, question_store(settings).find(selected)).result()


def deleted(settings: Settings, selected: Selected) -> int:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, question_store(settings).delete(selected)).result()
