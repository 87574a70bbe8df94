"""Arguments in, exit code out: 0 done, 1 failed, 2 wrong input or settings, 130 interrupted."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence

from pydantic import ValidationError

from app.cli.arguments import parser
from app.domain.errors import ConfigError, RagError
from app.settings import Settings


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. Every error of ours is one line on stderr."""
    try:
        arguments = parser().parse_args(argv)
        return int(asyncio.run(arguments.run(arguments, _settings())) or 0)
    except RagError as error:
        line = "; ".join([str(error), *getattr(error, "__notes__", [])])
        print(f"textbook-rag: {line}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:
        # The reader of our output (head, less) has gone: that is its right.
        sys.stderr.close()
        return 0
    except KeyboardInterrupt:
        print("textbook-rag: stopped; the index is as it was", file=sys.stderr)
        return 130


def _settings() -> Settings:
    try:
        return Settings()
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        message = f"setting {name}: {first['msg']} (see .env.example)"
        raise ConfigError(message) from None
