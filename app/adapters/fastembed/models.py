"""Finds, loads and downloads the models of fastembed.

A model is in the folder of models as fastembed downloads it or, copied by hand, with its files in a
folder of its name: `FOLDER/Xenova/ms-marco-MiniLM-L-6-v2/onnx/model.onnx`. Loading never downloads.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from app.domain.errors import ConfigError

if TYPE_CHECKING:
    from fastembed import TextEmbedding
    from fastembed.rerank.cross_encoder import TextCrossEncoder

EMBEDDER = "BAAI/bge-small-en-v1.5"
RERANKER = "Xenova/ms-marco-MiniLM-L-6-v2"
"""The models of `fastembed` without a name."""

_SETUP = "scripts/setup local"
_Model = TypeVar("_Model")


def download(name: str, folder: Path, announce: Callable[[str], None]) -> None:
    """Download the model unless it is there, with progress on stderr. Raises ConfigError."""
    known = {
        one["model"]: (kind, one["size_in_GB"])
        for kind in kinds()
        for one in kind.list_supported_models()
    }
    if name not in known:
        raise ConfigError(f"fastembed has no model {name}; it has {', '.join(sorted(known))}")
    kind, gigabytes = known[name]
    announce(f"{name}, {1_000 * gigabytes:.0f} MB, in {folder}")
    load(kind, name, folder, lazy_load=True, local_files_only=False)


def kinds() -> tuple[type[TextEmbedding], type[TextCrossEncoder]]:
    """Raises ConfigError if fastembed is not installed."""
    try:
        from fastembed import TextEmbedding  # noqa: PLC0415 - takes a second
        from fastembed.rerank.cross_encoder import TextCrossEncoder  # noqa: PLC0415
        from loguru import logger  # noqa: PLC0415
    except ImportError as error:
        message = f"local models need fastembed, which is not installed: {_SETUP}"
        raise ConfigError(message) from error
    logger.disable("fastembed")  # it logs the errors that it raises
    return TextEmbedding, TextCrossEncoder


def load(kind: Callable[..., _Model], name: str, folder: Path, **options: object) -> _Model:
    """Raises ConfigError if the model is unknown, missing or damaged."""
    copied = str(folder / name) if (folder / name).is_dir() else None
    given = {"local_files_only": True, "specific_model_path": copied, "cuda": False, **options}
    try:
        return kind(name, str(folder), **given)
    except Exception as error:  # the errors of onnxruntime and of HTTP clients share no class
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        failed = f"the model {name} cannot be loaded from {folder} (RAG_MODELS)"
        raise ConfigError(f"{failed}: {reason}; {_SETUP}") from error
