"""Translates errors of the SDK and the transport to ours, with the time of Retry-After."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from typing import TYPE_CHECKING

import aiohttp
import httpx

from app.domain.errors import ConfigError, ProviderError, ProviderRejected, ProviderUnavailable
from app.domain.surrogates import well_formed
from app.services.provider_stream import refused_call, text_of

if TYPE_CHECKING:
    from cohere.core import ApiError, ParsingError

_ENTITY_TOO_LARGE = 413
_TOO_MANY_REQUESTS = 429
# Messages seen: "too many tokens: size limit exceeded by 11326 tokens. Try using shorter or fewer
# inputs", "total number of texts must be at most 96 - received 100", "all texts must be non-empty".
_ABOUT_THE_TEXTS = re.compile(
    r"too (?:many|long|large|big)|\btokens?\b|\btexts?\b|\binputs?\b", re.I
)
_PER_MONTH = re.compile(r"/\s*month|per month|monthly", re.I)


# The SDK does not validate responses, so reading an unexpected one can raise any of these.
_UNEXPECTED = (
    TypeError,
    ValueError,
    KeyError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)


class TextsRefused(ProviderRejected):
    """Refused because of the size or content of the texts; a smaller batch may be accepted."""


@contextmanager
def provider_errors(action: str) -> Iterator[None]:
    """Translate errors of the SDK and the transport to this program's errors.

    `action` completes "Cohere could not ...": "embed", "rerank", "answer".
    """
    api_error, parsing_error = _sdk_errors()
    try:
        yield
    except api_error as error:
        status = error.status_code or 0
        raise refusal(action, status, error.headers, error.body) from error
    except (parsing_error, *_UNEXPECTED) as error:
        message = f"Cohere could not {action}: its answer is invalid"
        raise ProviderUnavailable(message) from error
    except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
        message = "RAG_COHERE_BASE_URL is not an http(s) URL"
        raise ConfigError(message) from error
    except (TimeoutError, httpx.HTTPError, aiohttp.ClientError) as error:
        # The error's text is left out: it may contain the request's headers with the API key.
        message = f"Cohere could not {action}: {_transport_failure(error)}"
        raise ProviderUnavailable(message) from error


@cache
def _sdk_errors() -> tuple[type[ApiError], type[ParsingError]]:
    """Cached: the import from the SDK's lazy package takes longer than reading many events."""
    from cohere.core import ApiError, ParsingError  # noqa: PLC0415 - the client has loaded it

    return ApiError, ParsingError


def _transport_failure(error: Exception) -> str:
    # The transport reports many errors of aiohttp as timeouts.
    cause = error.__cause__ if isinstance(error.__cause__, aiohttp.ClientError) else error
    if isinstance(cause, TimeoutError):
        return "no answer in time"
    if isinstance(cause, aiohttp.ClientConnectorError):
        return "no connection (check the network and RAG_COHERE_BASE_URL)"
    return f"the connection broke ({type(cause).__name__})"


def refusal(
    action: str, status: int, headers: Mapping[str, str] | None, body: object
) -> ProviderError:
    """Return the error for a response without a result; `body` is its JSON or text."""
    said = _message_of(body)
    if status == _TOO_MANY_REQUESTS and _PER_MONTH.search(said):
        wait: float | None = _seconds_to_next_month()
    else:
        wait = retry_after(headers)
    failure = refused_call("Cohere", action, status, said, "CO_API_KEY", wait)
    about_texts = status == _ENTITY_TOO_LARGE or _ABOUT_THE_TEXTS.search(said)
    if isinstance(failure, ProviderRejected) and about_texts:
        return TextsRefused(failure.reason, status=status, said=said)
    return failure


def _message_of(body: object) -> str:
    """The provider's message on one line, at most 300 characters."""
    said = text_of(body, "message") or text_of(body, "detail") or text_of(body)
    words = " ".join(well_formed(said or "no reason given").split())
    return words if len(words) <= 300 else words[:300] + "..."


def _seconds_to_next_month() -> float:
    """When the monthly limit of a trial key ends."""
    now = datetime.now(UTC)
    month = now.month % 12 + 1
    return (datetime(now.year + now.month // 12, month, 1, tzinfo=UTC) - now).total_seconds()


def retry_after(headers: Mapping[str, str] | None) -> float | None:
    """Seconds from a Retry-After header, a number or a date (RFC 9110, 10.2.3); else None."""
    fields = {name.lower(): value for name, value in (headers or {}).items()}
    value = fields.get("retry-after", "").strip()
    try:
        seconds = float(value)
    except ValueError:
        date = _http_date(value)
        if date is None:
            return None
        # By the server's clock, if it sends a date.
        now = _http_date(fields.get("date", "")) or datetime.now(UTC)
        seconds = (date - now).total_seconds()
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _http_date(value: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(value)
    except ValueError:
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)
