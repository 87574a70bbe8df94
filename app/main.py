"""The web application, and how `textbook-rag serve` runs it, as `app.api.server` configures it.

Another ASGI server may run it too, such as `uvicorn --factory app.main:create_app`.

`python -m app.main` prints the OpenAPI description, which is stored in
`specs/001-textbook-rag/contracts/openapi.json`.
"""

import asyncio
import ctypes
import json
import logging
import os
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from functools import partial
from importlib import metadata
from typing import Any, TypeAlias

from fastapi import FastAPI, Request
from pydantic import ConfigDict, RootModel

from app.api import admin_routes, health, limits, problems, routes, security
from app.api.ingest_jobs import IngestJobs
from app.api.limits import FairQueue, RateLimit
from app.api.metrics import Metrics
from app.api.pages import PAGE_ROUTES, widget_routes
from app.api.protocols import MCP_ROUTES, ai_sdk, openai
from app.bootstrap.application import Application, application
from app.bootstrap.logs import logging_to_stderr
from app.bootstrap.storage import index_faults, site_keys
from app.domain.answer import Answer
from app.settings import Settings

_log = logging.getLogger(__name__)

EXIT_SECONDS = 5.0
"""Time from the end of running answers to the end of the process."""
_DESCRIPTION = """\
Questions to a textbook, answered from the book only. Each claim has a citation that opens the
book's site at the cited paragraph. Errors are RFC 9457 problems with a stable `code`.
"""
OpenApplication: TypeAlias = Callable[[Settings], AbstractAsyncContextManager[Application]]


def create_app(settings: Settings, *, open_application: OpenApplication = application) -> FastAPI:
    """Return the ASGI application; its clients are opened when it starts, not before."""
    app = FastAPI(
        title="textbook-rag",
        version=metadata.version("textbook-rag"),
        description=_DESCRIPTION,
        docs_url=None,  # its page would load scripts from a CDN
        redoc_url=None,
        openapi_url="/v1/openapi.json",
        default_response_class=routes.PrintableResponse,
        responses=problems.documented(*problems.STATUSES),
        lifespan=partial(_lifespan, settings, open_application),
        # Starlette's slash redirects repeat the request's Host header, which a client may forge.
        redirect_slashes=False,
    )
    for kind in problems.OF_FRAMEWORK:
        app.add_exception_handler(kind, problems.on_error)
    app.state.error_shapes = dict.fromkeys(openai.PATHS, openai.openai_error)
    app.state.keys = site_keys(settings)
    app.state.metrics = Metrics()
    app.state.running = set()  # the tasks of the requests that have not ended
    security.install(app, settings)
    app.include_router(routes.open_router)
    for one in (routes, openai, ai_sdk, health, admin_routes):
        app.include_router(one.router)
    app.router.routes.extend([*MCP_ROUTES, *widget_routes(), *PAGE_ROUTES])
    _extend_description(app)
    return app


def _extend_description(app: FastAPI) -> None:
    """Add what no route declares: problems, and answers, whose schema takes long to make."""
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        class Described(RootModel[Answer | problems.Problem]):
            model_config = ConfigDict(use_attribute_docstrings=True)

        document = generate()
        found = Described.model_json_schema(
            mode="serialization", ref_template="#/components/schemas/{model}"
        )
        document["components"]["schemas"].update(found["$defs"])
        return document

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's documented way to extend it


@asynccontextmanager
async def _lifespan(
    settings: Settings, open_application: OpenApplication, app: FastAPI
) -> AsyncIterator[None]:
    with logging_to_stderr(settings, server=True):
        async with open_application(settings) as rag:
            app.state.application = rag
            app.state.rate_limit = RateLimit(settings.questions_per_minute)
            app.state.ingest_jobs = IngestJobs(settings)
            app.state.answers = FairQueue(settings.answers_at_once)
            app.state.searches = FairQueue(limits.SEARCHES_AT_ONCE)
            with suppress(OSError, AttributeError):  # another C library gives it back by itself
                # What is free since the models were read, 8 MB, goes back to the system.
                ctypes.CDLL(None).malloc_trim(0)
            _log.info("serve.started", extra={"pid": os.getpid()})
            try:
                yield
            finally:
                # uvicorn has cancelled what still runs: it sends its last event or its error.
                if running := app.state.running:
                    await asyncio.wait(running, timeout=EXIT_SECONDS)
                await app.state.ingest_jobs.close()
                _log.info("serve.stopped")


async def run(
    settings: Settings, listener: socket.socket, announce: Callable[[Settings], None]
) -> int:
    """Serve until the process is stopped, in workers if the settings say so; return the exit code.

    `announce` is called when nothing can fail any more. ConfigError.
    """
    from app.api import server  # noqa: PLC0415 - other servers do without uvicorn

    if settings.workers > 1:
        return server.run_workers("app.main:create_app", settings, listener, announce)
    async with application(settings) as rag:
        answers = rag.answer.model or "extractive"
        _log.info("serve.starting", extra={"embedder": rag.embedder.space, "answers": answers})
        for part, fault in {**await rag.faults(), **await index_faults(rag.index)}.items():
            _log.warning("serve.fault", extra={"part": part, "reason": fault})
        web = create_app(settings, open_application=lambda _: nullcontext(rag))
        announce(settings)
        await server.run(web, settings, listener)
    return 0


async def serve_agent(settings: Settings) -> None:
    """Serve an agent over the Model Context Protocol, on stdin and stdout."""
    from app.api.protocols.mcp import ToolServer  # noqa: PLC0415 - needs the extra

    # Its user is no reader: no question is logged, none is too much.
    changes = {"question_log_days": 0, "questions_per_minute": 0}
    web = create_app(settings.model_copy(update=changes))
    async with web.router.lifespan_context(web):
        local = Request({"type": "http", "app": web, "headers": []})
        await ToolServer(local).run_stdio_async()


def openapi_json() -> str:
    """Return the OpenAPI description as stored in the repository."""
    document = create_app(Settings(_env_file=None)).openapi()
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(openapi_json())
