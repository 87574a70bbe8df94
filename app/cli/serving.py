"""Commands that serve: serve, demo, mcp.

Each imports what it runs: that takes half a second, which help does without.
"""

import sys
from contextlib import nullcontext
from importlib.util import find_spec
from typing import Annotated

from typer import Option

from app.cli.command import Port, command, open_application
from app.cli.output import phases, remark
from app.domain.characters import counted
from app.domain.errors import ConfigError
from app.settings import Settings


@command(server=True)
async def serve(settings: Settings, port: Port = None) -> int:
    """Serve the API and a page that lists the books, as the settings say (see .env.example)."""
    from app.api.server import listening  # noqa: PLC0415
    from app.main import run  # noqa: PLC0415

    settings = _on(port, settings)
    with listening(settings) as listener:
        return await run(settings, listener, say_where)


def _on(port: int | None, settings: Settings) -> Settings:
    return settings.model_copy(update={"port": port}) if port else settings


@command(server=True)
async def demo(
    settings: Settings,
    port: Port = None,
    no_serve: Annotated[bool, Option("--no-serve", help="Only ingest the book.")] = False,
) -> None:
    """Ingest the sample book if it is not there yet, then serve it."""
    from app.api.server import listening  # noqa: PLC0415
    from app.bootstrap.books import sample_request  # noqa: PLC0415
    from app.main import run  # noqa: PLC0415

    settings = _on(port, settings).model_copy(update={"workers": 1})
    with nullcontext() if no_serve else listening(settings) as listener:
        async with open_application(settings) as app:
            report = await app.ingest.run(sample_request(), phases())
        remark(f"{report.book}: {counted(report.chunks, 'chunks')}, {report.embedded} embedded now")
        if listener:
            await run(settings, listener, say_where)


def say_where(settings: Settings) -> None:
    """Print on a terminal where the pages are."""
    if sys.stderr.isatty():
        host = "127.0.0.1" if settings.host == "0.0.0.0" else settings.host  # noqa: S104 - compared
        place = f"[{host}]" if ":" in host else host
        remark(f"Open http://{place}:{settings.port} (Ctrl+C stops)")


@command(server=True)
async def mcp(settings: Settings) -> None:
    """Serve an agent over the Model Context Protocol, on stdin and stdout."""
    if find_spec("mcp") is None:
        raise ConfigError("mcp needs its extra, which is not installed: scripts/setup mcp")
    from app.main import serve_agent  # noqa: PLC0415

    await serve_agent(settings)
