"""Finds, loads and downloads the models of fastembed.

A model is in the folder of models as fastembed downloads it or, copied by hand, with its files in a
folder of its name: `FOLDER/Xenova/ms-marco-MiniLM-L-6-v2/onnx/model.onnx`. Loading never downloads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.domain.errors import ConfigError

if TYPE_CHECKING:
    from fastembed import TextEmbedding
    from fastembed.rerank.cross_encoder import TextCrossEncoder

EMBEDDER = "BAAI/bge-small-en-v1.5"
RERANKER = "Xenova/ms-marco-MiniLM-L-6-v2"
"""The models of `fastembed` without a name."""

_SETUP = "scripts/setup local"
_REMEDY = f"; {_SETUP} downloads it"


def load_embedder(name: str, folder: Path) -> TextEmbedding:
    """Raises ConfigError if the model is unknown, missing or damaged."""
    _description(name, _embedders().list_supported_models())
    with _errors(name, f"cannot be loaded from {folder} (RAG_MODELS)", _REMEDY):
        return _embedders()(
            name,
            str(folder),
            cuda=False,
            local_files_only=True,
            specific_model_path=_copied(name, folder),
        )


def load_reranker(name: str, folder: Path) -> TextCrossEncoder:
    """Raises ConfigError if the model is unknown, missing or damaged.

    It uses one thread, so that its CPU time can be measured.
    """
    _description(name, _rerankers().list_supported_models())
    with _errors(name, f"cannot be loaded from {folder} (RAG_MODELS)", _REMEDY):
        return _rerankers()(
            name,
            str(folder),
            threads=1,
            cuda=False,
            local_files_only=True,
            specific_model_path=_copied(name, folder),
        )


def download(name: str, folder: Path) -> None:
    """Download the model unless it is there, with progress on stderr. Raises ConfigError."""
    kind = _kind(name)
    if _copied(name, folder):
        return
    with _errors(name, f"cannot be downloaded to {folder}"):
        kind(name, str(folder), lazy_load=True)


def megabytes(name: str) -> int:
    """Return the size of a model's download. ConfigError if fastembed does not know the model."""
    size: float = _description(name, _kind(name).list_supported_models())["size_in_GB"]
    return round(1_000 * size)


def _kind(name: str) -> type[TextEmbedding] | type[TextCrossEncoder]:
    """Return what loads the model. ConfigError if fastembed does not know the model."""
    embedders = _embedders().list_supported_models()
    _description(name, [*embedders, *_rerankers().list_supported_models()])
    return _embedders() if name in {one["model"] for one in embedders} else _rerankers()


def _embedders() -> type[TextEmbedding]:
    with _installed():
        from fastembed import TextEmbedding  # noqa: PLC0415 - takes a second

        return TextEmbedding


def _rerankers() -> type[TextCrossEncoder]:
    with _installed():
        from fastembed.rerank.cross_encoder import TextCrossEncoder  # noqa: PLC0415

        return TextCrossEncoder


@contextmanager
def _installed() -> Iterator[None]:
    try:
        from loguru import logger  # noqa: PLC0415

        logger.disable("fastembed")  # it logs the errors that it raises
        yield
    except ImportError as error:
        message = f"local models need fastembed, which is not installed: {_SETUP}"
        raise ConfigError(message) from error


def _copied(name: str, folder: Path) -> str | None:
    return str(folder / name) if (folder / name).is_dir() else None


@contextmanager
def _errors(name: str, failed: str, remedy: str = "") -> Iterator[None]:
    try:
        yield
    except Exception as error:  # the errors of onnxruntime and of HTTP clients share no class
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        message = f"the model {name} {failed}: {reason}{remedy}"
        raise ConfigError(message) from error


def _description(name: str, models: list[dict[str, Any]]) -> Mapping[str, Any]:
    """Return the model's description. ConfigError if there is none."""
    known = {one["model"]: one for one in models}
    if name not in known:
        near = ", ".join(get_close_matches(name, known, n=3, cutoff=0.0))
        message = f"fastembed has no such model {name}; it has, among others, {near}"
        raise ConfigError(message)
    return known[name]
