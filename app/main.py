"""The web application. `textbook-rag serve` runs it in `app.api.server`.

Another ASGI server may run it (`uvicorn --factory app.main:create_app --no-proxy-headers`). That
server must then limit connections and end streams at shutdown.

`python -m app.main` prints the OpenAPI description, which is stored in
`specs/001-textbook-rag/contracts/openapi.json`.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from importlib import metadata
from typing import TYPE_CHECKING, Any, TypeAlias

from fastapi import FastAPI
from pydantic.json_schema import models_json_schema

from app.api import admin_pages, admin_routes, feedback, limits, metrics, problems, routes, security
from app.api.asking import Shutdown
from app.api.book_pages import BOOK_PAGE_ROUTES
from app.api.docs import docs_routes
from app.api.events import DeltaEvent, SourcesEvent, StartEvent
from app.api.limits import Capacity, FairQueue, RateLimit
from app.api.pages import HOME_ROUTES
from app.api.problems import ErrorEvent, Problem
from app.api.protocols import mount
from app.api.pseudonyms import Pseudonyms
from app.api.widget import widget_routes
from app.bootstrap.application import Application, application
from app.bootstrap.key_store import site_keys
from app.bootstrap.logs import logging_to
from app.domain.errors import ConfigError
from app.services.ingest_jobs import IngestJobs
from app.settings import Settings, read_settings

if TYPE_CHECKING:
    from app.bootstrap.traces import Traces

_TRACES_GO_TO = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
OpenApplication: TypeAlias = Callable[[Settings], AbstractAsyncContextManager[Application]]

_DESCRIPTION = """\
Questions to a textbook, answered from the book only. Each claim has a citation that opens the
book's site at the cited paragraph. Errors are RFC 9457 problems with a stable `code`.
"""
_TAGS = [
    {"name": "answers", "description": "Ask and search."},
    {"name": "books", "description": "What is in the index."},
    {"name": "protocols", "description": "The same answers in the protocols of other APIs."},
    {"name": "admin", "description": "Bring books up to date, with a secret key."},
    {"name": "operation", "description": "For the operator's monitoring."},
]


def create_app(
    settings: Settings | None = None,
    *,
    open_application: OpenApplication = application,
    traced: Traces | None = None,
) -> FastAPI:
    """Return the ASGI application; its clients are opened when it starts, not before.

    ConfigError if the settings are invalid.
    """
    settings = settings or read_settings()
    traced = traced or _traces()
    app = FastAPI(
        title="textbook-rag",
        version=metadata.version("textbook-rag"),
        description=_DESCRIPTION,
        openapi_tags=_TAGS,
        docs_url=None,  # `docs_routes` serves the page and its files
        redoc_url=None,
        openapi_url="/v1/openapi.json",
        lifespan=partial(_lifespan, settings, open_application, traced),
        # Starlette's slash redirects repeat the request's Host header, which a client may forge.
        redirect_slashes=False,
    )
    problems.install(app)
    app.state.keys = site_keys(settings)
    app.state.metrics = metrics.Metrics()
    security.install(app, settings, app.state.keys, app.state.metrics, traced)
    app.include_router(routes.router)
    mount.protocols(app)
    for router in (metrics.router, feedback.router, admin_pages.router, admin_routes.router):
        app.include_router(router)
    app.router.routes.extend([*docs_routes(), *widget_routes(), *BOOK_PAGE_ROUTES, *HOME_ROUTES])
    _extend_description(app)
    return app


def _traces() -> Traces | None:
    """Return None if OpenTelemetry's variables name no address. ConfigError without the extra."""
    if not any(name in os.environ for name in _TRACES_GO_TO):
        return None
    try:
        from app.bootstrap.traces import exported  # noqa: PLC0415
    except ImportError:
        message = f"{_TRACES_GO_TO[0]} needs an extra: pip install 'textbook-rag[traces]'"
        raise ConfigError(message) from None
    return exported()


@asynccontextmanager
async def _lifespan(
    settings: Settings, open_application: OpenApplication, traced: Traces | None, app: FastAPI
) -> AsyncIterator[None]:
    with logging_to(sys.stderr, settings, server=True):
        async with open_application(settings) as rag:
            app.state.application = rag
            _set_state(app, settings)
            try:
                yield
            finally:
                await app.state.ingest_jobs.close()
                if traced:
                    await asyncio.to_thread(traced.close)


def _set_state(app: FastAPI, settings: Settings) -> None:
    app.state.shutdown = Shutdown()
    app.state.rate_limit = RateLimit(settings.questions_per_minute)
    app.state.ingest_jobs = IngestJobs()
    app.state.pseudonyms = Pseudonyms()
    app.state.capacity = Capacity(
        FairQueue(settings.answers_at_once), FairQueue(limits.SEARCHES_AT_ONCE)
    )


_UNRETURNED = (Problem, StartEvent, SourcesEvent, DeltaEvent, ErrorEvent)
"""What is in the description but no route's response model: problems, events."""


def _extend_description(app: FastAPI) -> None:
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        document = generate()
        _, found = models_json_schema(
            [(one, "serialization") for one in _UNRETURNED],
            ref_template="#/components/schemas/{model}",
        )
        document["components"]["schemas"].update(found["$defs"])
        return document

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's documented way to extend it


def openapi_json() -> str:
    """Return the OpenAPI description as stored in the repository."""
    document = create_app(Settings(_env_file=None)).openapi()
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(openapi_json())
