"""HTTP to a provider: one client, bounded reading of its responses, its errors as ours, odd values.

What a provider sends is data of any shape and size. `field_of`, `text_of` and `tokens_of` read a
value or say that it is unknown; what is no event at all is ProviderUnavailable.
"""

import asyncio
import json
import math
import re
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeAlias

import aiohttp
import httpx
from httpx_aiohttp import HttpxAiohttpClient

from app.domain.answer import Usage
from app.domain.characters import well_formed
from app.domain.errors import (
    ConfigError,
    ProviderAuthError,
    ProviderRateLimited,
    ProviderRejected,
    ProviderUnavailable,
)

MAX_BYTES = 32 * 2**20
"""Limit on the bytes of a stream. A long answer with its reasoning has about 10,000 events."""
MAX_ERROR_BYTES = 4_096
"""Read of the body of an error."""
MAX_LINE_BYTES = 2**20
# Each answer uses a connection while it is generated. With httpx's default limit of 100, the 101st
# reader, and every search meanwhile, would wait for a free connection and fail.
_CONNECTIONS = httpx.Limits(max_connections=2_000, max_keepalive_connections=100)
_SECONDS = 30.0
"""Time limit to connect and to send. Callers limit the wait for data."""
_MAX_TOKENS = 10**9
_MESSAGE_CHARACTERS = 300
_PER_MONTH = re.compile(r"/\s*month|per month|monthly", re.I)
_MONTHLY_WAIT = 86_400.0
"""Retry-After of a used-up month, in seconds: no call waits that long."""

# 408 and 409 are temporary; 499 is Cohere's "request cancelled".
_TRANSIENT = frozenset({408, 409, 499})
# Reading a response that nobody validated can raise any of these.
_UNEXPECTED = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError)

Event: TypeAlias = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Provider:
    """A client of a provider, and how its errors name it."""

    client: httpx.AsyncClient
    name: str
    key_setting: str
    url_setting: str
    invalid: tuple[type[Exception], ...] = _UNEXPECTED
    """What reading an invalid response raises."""

    @contextmanager
    def errors(self, action: str) -> Iterator[None]:
        """Translate what a request raises. `action` completes "could not ..."."""
        try:
            yield
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            raise ConfigError(f"{self.url_setting} is not an http(s) URL") from error
        except (TimeoutError, httpx.HTTPError, aiohttp.ClientError) as error:
            # The error's text is left out: it may contain the request's headers with the API key.
            cause = error.__cause__ or error  # the transport calls all of them ConnectTimeout
            reason = f"the connection broke ({type(cause).__name__}; {self.url_setting})"
            if isinstance(error, TimeoutError | httpx.ReadTimeout):
                reason = "no answer in time"
            elif isinstance(cause, aiohttp.ClientConnectorError):
                reason = f"no connection (check the network and {self.url_setting})"
            raise ProviderUnavailable(f"{self.name} could not {action}: {reason}") from error
        except self.invalid as error:
            message = f"{self.name} could not {action}: its answer is invalid"
            raise ProviderUnavailable(message) from error

    async def refuse(self, response: httpx.Response) -> None:
        """Raise ProviderError for a status of 300 or more, reading the beginning of the body."""
        status = response.status_code
        if status < 300:
            return
        said = _message_of(await beginning(response.aiter_raw()))
        wait = retry_after(response.headers)
        if status in {401, 403}:
            message = f"{self.name} refused the key: set {self.key_setting} to a valid one"
            raise ProviderAuthError(message, status=status)
        if status == 402:
            message = f"{self.name} refused the call: the account's spending limit"
            raise ProviderAuthError(message, status=status, said=said)
        if status == 429:
            message = f"{self.name} allows no more calls now"
            wait = _MONTHLY_WAIT if _PER_MONTH.search(said) else wait
            raise ProviderRateLimited(message, wait, status=status, said=said)
        if status in _TRANSIENT or status >= 500:
            raise ProviderUnavailable(f"{self.name} failed (HTTP {status})", wait, status=status)
        message = f"{self.name} refused the call (HTTP {status})"
        raise ProviderRejected(message, status=status, said=said)


@asynccontextmanager
async def connect(
    name: str, key_setting: str, url_setting: str, base_url: str, key: str | None
) -> AsyncIterator[Provider]:
    """Open a client that raises ProviderError for a refusal; its connections close at the end.

    ConfigError if the key is not printable ASCII.
    """
    # Compressed responses are not asked for and not read: a few kB may become any size.
    headers = {"Accept-Encoding": "identity", "User-Agent": "textbook-rag"}
    if key is not None:
        key = key.strip()
        if not (key and key.isascii() and key.isprintable()):
            raise ConfigError(f"the key of {name} has invalid characters: set {key_setting} again")
        headers["Authorization"] = f"Bearer {key}"
    timeout = httpx.Timeout(_SECONDS, read=None)
    # With many calls open, aiohttp's transport takes a fifth of the CPU time of httpx's own.
    async with HttpxAiohttpClient(
        base_url=base_url, headers=headers, timeout=timeout, limits=_CONNECTIONS
    ) as client:
        provider = Provider(client, name, key_setting, url_setting)
        client.event_hooks = {"response": [provider.refuse]}
        yield provider


def _message_of(sent: bytes) -> str:
    """The provider's message on one line; "" if it has control characters.

    It is the field `message` or `detail` of the JSON, else the text.
    """
    text = sent.decode("utf-8", errors="replace")
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        body = text
    said = text_of(body, "message") or text_of(body, "detail") or text_of(body)
    words = " ".join(well_formed(said or "no reason given").split())
    short = words[:_MESSAGE_CHARACTERS] + ("..." if len(words) > _MESSAGE_CHARACTERS else "")
    return short if short.isprintable() else ""


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds from a Retry-After header, a number or a date (RFC 9110, 10.2.3); else None."""
    value = httpx.Headers(headers).get("retry-after", "").strip()
    try:
        seconds = float(value)
    except ValueError:
        try:
            until = parsedate_to_datetime(value)
        except ValueError:
            return None
        seconds = (until.replace(tzinfo=until.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
    return max(0.0, seconds) if math.isfinite(seconds) else None


async def events_of(response: httpx.Response) -> AsyncGenerator[Event, None]:
    """Yield the JSON objects of server-sent events, up to `[DONE]`.

    ValueError, TypeError or RecursionError if an event is no JSON object, or if the stream exceeds
    a limit: `Provider.errors` translates them.
    """
    # Split at line feeds only: JSON may contain other line separators.
    rest, size = b"", 0
    async for chunk in response.aiter_raw():
        *lines, rest = (rest + chunk).split(b"\n")
        size += len(chunk)
        if size > MAX_BYTES or len(rest) > MAX_LINE_BYTES:
            raise ValueError("too long")
        for line in lines:
            data = line.removeprefix(b"data:").strip()
            if data == b"[DONE]":
                return
            if line.startswith(b"data:") and data:
                event = json.loads(data.decode("utf-8", errors="replace"))
                if not isinstance(event, dict):
                    raise TypeError("no object")
                yield event
                # Events that arrived together are read without a wait: let other requests run.
                await asyncio.sleep(0)
        await asyncio.sleep(0)


async def beginning(chunks: AsyncIterable[bytes], limit: int = MAX_ERROR_BYTES) -> bytes:
    """Return at most the first `limit` bytes; the rest is not read."""
    read = bytearray()
    async for chunk in chunks:
        read += chunk[: limit - len(read)]
        if len(read) == limit:
            break
    return bytes(read)


def field_of(value: object, *path: str | int) -> object:
    """Return the value at `path` in nested objects and lists; None if it is not there."""
    for key in path:
        if isinstance(value, Mapping):
            value = value.get(key)
        elif isinstance(value, list) and isinstance(key, int) and key < len(value):
            value = value[key]
        else:
            return None
    return value


def text_of(value: object, *path: str | int) -> str:
    """Return the text at `path`; "" if there is none."""
    found = field_of(value, *path)
    return found if isinstance(found, str) else ""


def tokens_of(value: object) -> int | None:
    """Return a count of tokens; None if it is unknown: no number, infinite, negative, absurd."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 <= value <= _MAX_TOKENS else None


def usage_of(read: object, written: object) -> Usage:
    """Return the tokens of the prompt and the answer; `Usage()` if one of them is unknown."""
    counts = tokens_of(read), tokens_of(written)
    return Usage() if counts[0] is None or counts[1] is None else Usage(counts[0], counts[1])
