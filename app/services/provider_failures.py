"""Logs failures of providers and checks the vectors they send."""

from __future__ import annotations

import logging
import math

from app.domain.errors import BudgetSpent, ProviderAuthError, ProviderError
from app.domain.retrieval.query import Vector


def log_failure(log: logging.Logger, event: str, error: ProviderError) -> None:
    """Log a failed step of an answer; a refused key is an error, since it is permanent.

    A spent budget is not logged here: `Budget` logs it once a day.
    """
    if isinstance(error, BudgetSpent):
        return
    level = logging.ERROR if isinstance(error, ProviderAuthError) else logging.WARNING
    log.log(level, event, extra={"error": error.code, "reason": str(error)})


def degradation(step: str, error: ProviderError) -> str:
    """The entry of `degraded` for a step that the error ended."""
    return "budget" if isinstance(error, BudgetSpent) else step


def require_vector(vector: Vector, model: str, dimension: int, of: str) -> None:
    """ProviderError unless the vector has `dimension` finite numbers that are not all zero.

    `of` names the text of the vector, for the message.
    """
    if len(vector) != dimension:
        fault = (
            f"of {len(vector)} dimensions instead of {dimension}: see RAG_COHERE_EMBED_DIMENSION"
        )
    elif not math.isfinite(sum(vector)):
        fault = "with values that are not finite"
    elif not any(vector):
        fault = "of zeros only"
    else:
        return
    message = f"model {model} returned for {of} a vector {fault}"
    raise ProviderError(message)
