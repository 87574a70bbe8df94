"""Logs and records failures of providers, and checks the vectors they send."""

from __future__ import annotations

import logging
import math

from app.domain.errors import BudgetSpent, ProviderAuthError, ProviderError
from app.domain.retrieval.query import Vector
from app.services.recording import current


def degraded_by(log: logging.Logger, event: str, step: str, error: ProviderError) -> str:
    """Log and record the failure of a step; return its entry of `degraded`.

    A refused key is logged as an error, since it is permanent; other failures as warnings. A spent
    budget is not logged here: `Budget` logs it once a day.
    """
    failure = current().failed(step, error)
    if isinstance(error, BudgetSpent):
        return "budget"
    level = logging.ERROR if isinstance(error, ProviderAuthError) else logging.WARNING
    fields = {"error": failure.code, "status": failure.status, "reason": failure.reason}
    log.log(level, event, extra=fields)
    return step


def require_vector(vector: Vector, model: str, dimension: int, of: str) -> None:
    """ProviderError unless the vector has `dimension` finite numbers that are not all zero.

    `of` names the text of the vector, for the message.
    """
    if len(vector) != dimension:
        fault = f"of {len(vector)} dimensions instead of {dimension}"
    elif not math.isfinite(sum(vector)):
        fault = "with values that are not finite"
    elif not any(vector):
        fault = "of zeros only"
    else:
        return
    message = f"model {model} returned for {of} a vector {fault}"
    raise ProviderError(message)
