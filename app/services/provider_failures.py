"""What is done without a provider that failed: told in the log; and what it sent, looked at."""

from __future__ import annotations

import logging
import math

from app.domain.errors import ProviderAuthError, ProviderError
from app.domain.retrieval.query import Vector


def log_failure(log: logging.Logger, event: str, error: ProviderError) -> None:
    """Log what the answer is made without; a refused key or account as an error, since it stays."""
    level = logging.ERROR if isinstance(error, ProviderAuthError) else logging.WARNING
    log.log(level, event, extra={"error": error.code, "reason": str(error)})


def require_vector(vector: Vector, model: str, dimension: int, of: str) -> None:
    """Raise ProviderError unless the vector can be searched with; `of` names what it stands for.

    It has `dimension` finite numbers that are not all zero: a cosine with zeros is none.
    """
    if len(vector) != dimension:
        fault = f"of {len(vector)} dimensions, not of {dimension}: see RAG_COHERE_EMBED_DIMENSION"
    elif not math.isfinite(sum(vector)):
        fault = "that is no number"
    elif not any(vector):
        fault = "of zeros"
    else:
        return
    message = f"the model {model} sent for {of} a vector {fault}"
    raise ProviderError(message)
