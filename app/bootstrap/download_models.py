"""`python -m app.bootstrap.download_models`, as `scripts/setup local` runs it.

Downloads the local models that the settings name; without such settings, those of `fastembed`.
"""

from __future__ import annotations

import sys
from functools import partial

from app.adapters.fastembed.models import EMBEDDER, RERANKER, download
from app.bootstrap.providers import fastembed_model
from app.domain.errors import RagError
from app.settings import Settings, read_settings


def wanted(settings: Settings) -> list[str]:
    embedder = fastembed_model(settings.embedder, EMBEDDER)
    reranker = fastembed_model(settings.reranker, RERANKER)
    return [*filter(None, (embedder, reranker))] or [EMBEDDER, RERANKER]


def main() -> None:
    try:
        settings = read_settings()
        for name in wanted(settings):
            download(name, settings.models_folder, partial(print, file=sys.stderr))
    except RagError as error:
        sys.exit(f"models: {error}")


if __name__ == "__main__":
    main()
