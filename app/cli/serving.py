"""Commands that serve: serve, demo, mcp."""

from __future__ import annotations

import logging
import os
import socket
import sys
from contextlib import nullcontext
from importlib.util import find_spec
from typing import Annotated

import uvicorn
from fastapi import Request
from typer import Option
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess

from app.api.keys import require_keys
from app.api.server import configured
from app.bootstrap.books import sample_request
from app.bootstrap.storage import site_keys, storage_warnings
from app.cli.options import Port
from app.cli.output import phases, remark
from app.cli.running import command, open_application
from app.domain.errors import ConfigError
from app.main import create_app
from app.settings import Settings

_log = logging.getLogger(__name__)


@command(server=True)
async def serve(settings: Settings, port: Port = None) -> int:
    """Serve the API and a page that lists the books, as the settings say (see .env.example)."""
    settings = _on(port, settings)
    with _listener(settings) as listener:
        if settings.workers > 1:
            return _serve_in_workers(settings, listener)
        await _serve(settings, listener)
        return 0


def _on(port: int | None, settings: Settings) -> Settings:
    return settings.model_copy(update={"port": port}) if port else settings


def _serve_in_workers(settings: Settings, listener: socket.socket) -> int:
    """Run processes that share the socket; each opens its own application. ConfigError."""
    if not settings.qdrant_url:
        message = (
            f"{settings.workers} workers need a Qdrant server: with the embedded index each would "
            "load every book into its own memory; set QDRANT_URL, or leave RAG_WORKERS at 1"
        )
        raise ConfigError(message)
    os.environ.update(settings.as_environment())  # from which each worker reads its settings
    say_where(settings)
    supervisor = Multiprocess(configured("app.main:create_app", settings), [listener])
    supervisor.run()
    return int(any(one.exitcode == STARTUP_FAILURE for one in supervisor.processes))


@command(server=True)
async def demo(
    settings: Settings,
    port: Port = None,
    no_serve: Annotated[bool, Option("--no-serve", help="Only ingest the book.")] = False,
) -> None:
    """Ingest the sample book if it is not there yet, then serve it."""
    settings = _on(port, settings).model_copy(update={"workers": 1})
    with nullcontext() if no_serve else _listener(settings) as listener:
        async with open_application(settings) as app:
            report = await app.ingest.run(sample_request(), phases())
        remark(f"{report.book}: {report.chunks} chunks, {report.embedded} embedded now")
        if listener:
            await _serve(settings, listener)


@command(server=True)
async def mcp(settings: Settings) -> None:
    """Serve an agent over the Model Context Protocol, on stdin and stdout."""
    if find_spec("mcp") is None:
        message = "mcp needs an extra: pip install 'textbook-rag[mcp]'"
        raise ConfigError(message)
    from app.api.protocols.mcp import ToolServer  # noqa: PLC0415 - needs the extra

    # Its user is no reader: no question is logged, none is too much.
    changes = {"question_log_days": 0, "questions_per_minute": 0}
    web = create_app(settings.model_copy(update=changes))
    async with web.router.lifespan_context(web):
        local = Request({"type": "http", "app": web, "headers": []})
        await ToolServer(local).run_stdio_async()


async def _serve(settings: Settings, listener: socket.socket) -> None:
    async with open_application(settings) as rag:
        answers = rag.answer.model or "extractive"
        _log.info("serve.starting", extra={"embedder": rag.embedder.space, "answers": answers})
        unreadable = (await rag.unreadable_stores()).values()
        for line in (*unreadable, *await storage_warnings(settings, rag.index)):
            _log.warning("serve.storage", extra={"reason": line})
        fault = await rag.model_fault()
        if fault:
            # Until the model is available, answers are extractive.
            _log.warning("serve.model_does_not_answer", extra={"reason": fault})
        web = create_app(settings, open_application=lambda _: nullcontext(rag))
        say_where(settings)
        await uvicorn.Server(configured(web, settings)).serve(sockets=[listener])


def say_where(settings: Settings) -> None:
    """Print on a terminal where the pages are."""
    if sys.stderr.isatty():
        host = "127.0.0.1" if settings.host == "0.0.0.0" else settings.host  # noqa: S104 - compared
        place = f"[{host}]" if ":" in host else host
        remark(f"Open http://{place}:{settings.port} (Ctrl+C stops)")


def _listener(settings: Settings) -> socket.socket:
    """Return a bound socket. ConfigError if others may ask without a key, or it cannot be bound."""
    require_keys(settings, site_keys(settings))
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # asyncio turns off Nagle's algorithm only if the socket's protocol is IPPROTO_TCP.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
    except OSError as error:
        listener.close()
        reason = error.strerror or os.strerror(error.errno or 0)
        message = (
            f"cannot listen on {settings.host}:{settings.port} ({reason}); choose a free port with "
            "--port (RAG_PORT), and an address of this machine as RAG_HOST"
        )
        raise ConfigError(message) from None
    return listener
