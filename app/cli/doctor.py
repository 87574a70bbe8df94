"""`doctor`: which models and index are used, why, and what would be better."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Annotated

from typer import Option

from app.cli.command import Json, command
from app.cli.output import remark, show
from app.settings import Settings


@command()
async def doctor(
    settings: Settings,
    download: Annotated[
        bool, Option("--download", help="First download the local models that the settings name.")
    ] = False,
    json: Json = False,
) -> None:
    """Say which models and index are used, why, and the one line that would better each."""
    from app.bootstrap.doctor import diagnose, download_models  # noqa: PLC0415

    if download:
        download_models(settings, remark)
    found = {part: asdict(one) for part, one in (await diagnose(settings)).items()}
    show(found, _finding_lines(found), as_json=json)


def _finding_lines(found: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    for part, one in found.items():
        yield f"{part:<10} {one['used'] or 'cannot be used'}"
        yield f"{'why':>10} {one['why']}"
        if one["better"]:
            yield f"{'better':>10} {one['better']}"
