"""Commands that serve: serve, demo, mcp."""

from __future__ import annotations

import argparse
import logging
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec

from app.bootstrap.application import Application, application
from app.bootstrap.books import sample_request
from app.bootstrap.keys import site_keys
from app.bootstrap.storage import storage_warnings
from app.cli.output import TerminalProgress, remark
from app.domain.errors import ConfigError
from app.settings import Settings

_log = logging.getLogger(__name__)


async def serve(arguments: argparse.Namespace, settings: Settings) -> None:
    update = {
        name: getattr(arguments, name)
        for name in ("host", "port", "open")
        if getattr(arguments, name)
    }
    await _serve(settings.model_copy(update=update))


async def demo(arguments: argparse.Namespace, settings: Settings) -> None:
    """Ingest the sample book if it is not there yet, then serve it."""
    if not arguments.no_serve:
        _require_free_port(settings)
    async with application(settings, settings.strategy) as app:
        with TerminalProgress() as progress:
            report = await app.ingest.run(sample_request(settings), progress)
    remark(f"{report.book}: {report.chunks} chunks, {report.embedded} embedded now")
    if not arguments.no_serve:
        await _serve(settings, sample=True)


async def mcp(_: argparse.Namespace, settings: Settings) -> None:
    """Answer an agent's client by the Model Context Protocol, on stdin and stdout."""
    if find_spec("mcp") is None:
        message = "the command needs the extra mcp: pip install 'textbook-rag[mcp]'"
        raise ConfigError(message)
    from app.api.doors.mcp import serve_stdio  # noqa: PLC0415

    async with application(settings) as rag:
        await serve_stdio(rag)


async def _serve(settings: Settings, *, sample: bool = False) -> None:
    # Importing these takes half a second, which other commands should not pay.
    from app.api import demo  # noqa: PLC0415
    from app.api.connections import server  # noqa: PLC0415
    from app.api.keys import require_keys  # noqa: PLC0415
    from app.api.pages import BOOK_LIST_ROUTES  # noqa: PLC0415
    from app.main import create_app  # noqa: PLC0415

    require_keys(settings, site_keys(settings))
    _require_free_port(settings)
    async with application(settings) as rag:

        @asynccontextmanager
        async def opened(_: Settings) -> AsyncIterator[Application]:
            yield rag

        _log.info(
            "serve.starting", extra={"embedder": rag.embedder.model, "answers": rag.answer_mode}
        )
        for line in await storage_warnings(settings, rag.index):
            _log.warning("serve.storage", extra={"reason": line, "once_a_second": False})
        fault = await rag.model_fault()
        if fault:
            # Answers are extractive until it answers.
            _log.warning("serve.model_does_not_answer", extra={"reason": fault})
        site = await demo.sample_site(rag) if sample else BOOK_LIST_ROUTES
        web = create_app(settings, open_application=opened, site=site)
        await server(web, settings).serve()


def _require_free_port(settings: Settings) -> None:
    try:
        with socket.create_server((settings.host, settings.port)):
            pass
    except OSError as error:
        reason = error.strerror or os.strerror(error.errno or 0)
        message = (
            f"cannot listen on {settings.host}:{settings.port} ({reason}); set RAG_PORT to a free "
            "port, RAG_HOST to an address of this machine"
        )
        raise ConfigError(message) from None
