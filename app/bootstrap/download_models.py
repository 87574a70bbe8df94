"""`python -m app.bootstrap.download_models`: downloads the local models that the settings name.

Without such settings, those of `fastembed` without a name. `scripts/setup local` runs it.
"""

from __future__ import annotations

import sys

from app.adapters.fastembed.models import EMBEDDER, RERANKER, download
from app.bootstrap.providers import fastembed_model
from app.domain.errors import RagError
from app.settings import Settings, read_settings


def wanted(settings: Settings) -> list[str]:
    """Return the models to download."""
    embedder = fastembed_model(settings.embedder, EMBEDDER)
    reranker = fastembed_model(settings.reranker, RERANKER)
    return [*filter(None, (embedder, reranker))] or [EMBEDDER, RERANKER]


def _say(line: str) -> None:
    print(f"models: {line}", file=sys.stderr)  # noqa: T201


def main() -> int:
    try:
        settings = read_settings()
        for name in wanted(settings):
            download(name, settings.models_folder, _say)
    except RagError as error:
        _say(str(error))
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
