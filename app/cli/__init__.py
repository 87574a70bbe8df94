"""The command line: `textbook-rag`, `python -m app.cli`."""

from app.cli.entry import main

__all__ = ["main"]
