"""Reads and deletes logged answers."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

from app.bootstrap.question_logging import question_store
from app.domain.logged_answer import LoggedAnswer
from app.services.question_log import Selected
from app.settings import Settings


def found(settings: Settings, selected: Selected = Selected()) -> list[LoggedAnswer]:  # noqa: B008
    store = question_store(settings)
    try:
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(asyncio.run, store.find(selected)).result()
    finally:
        store.close()


def deleted(settings: Settings, selected: Selected) -> int:
    store = question_store(settings)
    try:
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(asyncio.run, store.delete(selected)).result()
    finally:
        store.close()
