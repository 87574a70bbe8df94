"""Where the application gets its doors."""

from __future__ import annotations

from fastapi import FastAPI

from app.api.doors import llms_text, openai
from app.api.doors.openai_errors import OpenAIErrors


def doors(app: FastAPI) -> None:
    """Add the routes of all doors; to be called after `security.install`."""
    app.include_router(openai.router)
    app.include_router(llms_text.router)
    app.add_middleware(OpenAIErrors)
