"""Opens the SDK's client, calls it with retries, and translates its errors to ours."""

from __future__ import annotations

import asyncio
import importlib
import logging
import math
import random
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import aiohttp
import httpx

from app.adapters.cohere.limiter import RateLimiter, Slot
from app.domain.errors import (
    ConfigError,
    ProviderError,
    ProviderRateLimited,
    ProviderRejected,
    ProviderUnavailable,
)
from app.services.provider_stream import refused_call

if TYPE_CHECKING:
    from cohere import AsyncClientV2
    from cohere.core import ApiError, ParsingError, RequestOptions

_ENTITY_TOO_LARGE = 413
_TOO_MANY_REQUESTS = 429
# Each answer uses a connection while it is generated. With httpx's default limit of 100, the 101st
# reader, and every search meanwhile, would wait for a free connection and fail.
_CONNECTIONS = httpx.Limits(max_connections=2_000, max_keepalive_connections=100)
# Messages seen: "too many tokens: size limit exceeded by 11326 tokens. Try using shorter or fewer
# inputs", "total number of texts must be at most 96 - received 100", "all texts must be non-empty".
_ABOUT_THE_TEXTS = re.compile(
    r"too (?:many|long|large|big)|\btokens?\b|\btexts?\b|\binputs?\b", re.I
)
_PER_MONTH = re.compile(r"/\s*month|per month|monthly", re.I)


class TextsRefused(ProviderRejected):
    """Refused because of the size or content of the texts; a smaller batch may be accepted."""


@asynccontextmanager
async def open_client(
    api_key: str, base_url: str, timeout_seconds: float
) -> AsyncIterator[AsyncClientV2]:
    """Open the SDK's client; its connections close with the context.

    `base_url` has no path. It is always passed on: without it the SDK would use CO_API_URL.
    ConfigError if the key is not printable ASCII.
    """
    key = api_key.strip()
    if not key.isascii() or not key.isprintable() or not key:
        message = "the Cohere key has invalid characters: set CO_API_KEY again"
        raise ConfigError(message)
    # The import blocks for up to 0.7 s.
    cohere = await asyncio.to_thread(importlib.import_module, "cohere")
    # Cheaper than httpx's own transport when many calls are open (specs/decisions/0001).
    transport: httpx.AsyncClient = cohere.DefaultAioHttpClient(
        timeout=timeout_seconds, follow_redirects=True, limits=_CONNECTIONS
    )
    client: AsyncClientV2 = cohere.AsyncClientV2(
        api_key=key,
        base_url=base_url.rstrip("/"),
        timeout=timeout_seconds,
        client_name="textbook-rag",
        httpx_client=transport,
    )
    async with transport, client:
        yield client


def request_options(timeout_seconds: float) -> RequestOptions:
    """Return the options of every call. The SDK's retries are off: no limiter would count them."""
    return {"timeout": timeout_seconds, "max_retries": 0}


@contextmanager
def provider_errors(action: str) -> Iterator[None]:
    """Translate errors of the SDK and the transport to this program's errors.

    `action` completes "Cohere could not ...": "embed", "rerank", "answer".
    """
    api_error, parsing_error = _sdk_errors()
    try:
        yield
    except api_error as error:
        raise _from_response(action, error) from error
    except (parsing_error, TypeError, ValueError, KeyError, AttributeError) as error:
        # The SDK does not validate responses, so reading an unexpected one can raise any of these.
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


def _from_response(action: str, error: ApiError) -> ProviderError:
    status, said = error.status_code or 0, _message_of(error.body)
    if status == _TOO_MANY_REQUESTS and _PER_MONTH.search(said):
        wait: float | None = _seconds_to_next_month()
    else:
        wait = retry_after(error.headers)
    failure = refused_call("Cohere", action, status, said, "CO_API_KEY", wait)
    about_texts = status == _ENTITY_TOO_LARGE or _ABOUT_THE_TEXTS.search(said)
    if isinstance(failure, ProviderRejected) and about_texts:
        return TextsRefused(failure.reason, status=status, said=said)
    return failure


def _message_of(body: Any) -> str:  # noqa: ANN401 - whatever JSON the provider sent
    """The provider's message on one line, at most 300 characters."""
    said = body.get("message") or body.get("detail") if isinstance(body, Mapping) else body
    words = " ".join(str(said or "no reason given").split())
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


logger = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Patience:
    """How often and how long to retry after temporary failures. Times in seconds."""

    attempts: int
    first_backoff: float
    longest_backoff: float
    longest_retry_after: float
    """If Retry-After is longer, the error is raised at once."""
    longest_queue: float | None = None
    """Longest wait for the rate limiter; None for no limit."""


INGEST = Patience(10, first_backoff=1.0, longest_backoff=60.0, longest_retry_after=300.0)
"""For ingests: no reader waits, and a failed batch ends the run. Two minutes on average."""

READER = Patience(
    2, first_backoff=0.2, longest_backoff=1.0, longest_retry_after=1.0, longest_queue=1.0
)
"""For calls with a waiting reader; if they fail, an answer is still possible without them."""


class Calls:
    """Runs calls to one endpoint, for any number of tasks of one event loop."""

    def __init__(
        self,
        limiter: RateLimiter,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        rng: random.Random | None = None,
    ) -> None:
        self.limiter = limiter
        self._sleep = sleep
        self._rng = rng or random.Random()  # noqa: S311 - jitter is no secret

    async def run(
        self,
        send: Callable[[Slot], Awaitable[T]],
        patience: Patience,
        inputs: int = 1,
        tokens: int = 0,
    ) -> T:
        """Return the result of `send`, retried as `patience` allows.

        ProviderRateLimited or ProviderUnavailable when the retries are used up; other errors of
        `send` at once.
        """
        attempt = 0
        while True:
            attempt += 1
            slot = await self.limiter.acquire(inputs, tokens, patience.longest_queue)
            try:
                return await send(slot)
            except (ProviderRateLimited, ProviderUnavailable) as error:
                wait = self._wait(attempt, patience, error.retry_after)
                if attempt == patience.attempts or wait is None:
                    raise
                fields = {"attempt": attempt, "wait": wait, "error": error.code}
                failed = {"status": error.status, "reason": error.reason}
                logger.warning("cohere.retry", extra=fields | failed)
                if isinstance(error, ProviderRateLimited):
                    self.limiter.pause(wait)  # other callers would be refused as well
                else:
                    await self._sleep(wait)

    def _wait(self, attempt: int, patience: Patience, retry_after: float | None) -> float | None:
        """Seconds of exponential back-off with full jitter, added to the provider's Retry-After.

        None if Retry-After is too long. Source: AWS Architecture Blog, "Exponential Backoff And
        Jitter" (2015).
        """
        most = min(patience.longest_backoff, patience.first_backoff * 2 ** (attempt - 1))
        jitter = self._rng.uniform(0.0, most)
        if retry_after is None:
            return jitter
        if retry_after > patience.longest_retry_after:
            return None
        return retry_after + min(jitter, patience.first_backoff)
