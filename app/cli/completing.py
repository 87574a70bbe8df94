"""The command `completion`: prints a shell's completion script."""

from __future__ import annotations

import argparse

import shtab

from app.cli.arguments import parser
from app.settings import Settings


async def completion(arguments: argparse.Namespace, settings: Settings) -> None:
    del settings  # the script depends on the commands alone
    print(shtab.complete(parser(), arguments.shell))
