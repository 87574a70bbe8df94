"""Limits per key and per book: questions per minute and per day, concurrent answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field

from fastapi import Request

from app.api.keys import books_for, key_of
from app.api.limits import CHARGES, RETRY_SECONDS, Charge, RateLimit, daily
from app.api.requests import ChatRequest, SearchRequest
from app.bootstrap.application import Application
from app.domain.book_id import BookId
from app.domain.errors import TooManyRequests
from app.settings import Settings


@dataclass(slots=True)
class Quota:
    """Limits per key or per book, over all client addresses."""

    holder: str
    """"key" or "book", for messages."""
    minute: RateLimit
    day: RateLimit
    answers_at_once: int
    """Maximum concurrent answers of a holder; 0 means no limit."""
    _held: Counter[str] = field(default_factory=Counter, init=False)

    def take(self, names: Sequence[str], charge: Charge) -> None:
        """Charge these holders. TooManyRequests if one of them has not enough questions left."""
        for limit, period in ((self.minute, "minute"), (self.day, "day")):
            wait = limit.take(dict.fromkeys(names, 1), charge)
            if wait:
                message = f"the questions that this {self.holder} may ask a {period} are used up"
                raise TooManyRequests(f"{message}; try again in {wait:.1f} s", wait)

    @contextmanager
    def answering(self, names: Sequence[str]) -> Iterator[None]:
        """Count an answer of these holders during the block. TooManyRequests at the limit."""
        if self.answers_at_once and any(self._held[name] >= self.answers_at_once for name in names):
            message = f"too many questions to this {self.holder} are being answered"
            raise TooManyRequests(f"{message}; ask again in a moment", RETRY_SECONDS)
        self._held.update(names)
        try:
            yield
        finally:
            self._held.subtract(names)
            self._held += Counter()  # drops the names with a count of 0


@dataclass(frozen=True, slots=True)
class Quotas:
    keys: Quota
    books: Quota


def quotas(settings: Settings) -> Quotas:
    def quota(holder: str, minute: int, day: int, at_once: int) -> Quota:
        return Quota(holder, RateLimit(minute, max(1, minute)), daily(day), at_once)

    return Quotas(
        quota(
            "key",
            settings.key_questions_per_minute,
            settings.key_questions_per_day,
            settings.key_answers_at_once,
        ),
        quota(
            "book",
            settings.book_questions_per_minute,
            settings.book_questions_per_day,
            settings.book_answers_at_once,
        ),
    )


async def chat_quota(body: ChatRequest, request: Request) -> AsyncIterator[None]:
    """Dependency: charge a question, and count an answer until the response is sent."""
    async with answer_charged(request, body.book):
        yield


@asynccontextmanager
async def answer_charged(request: Request, book: BookId | None) -> AsyncIterator[None]:
    """Charge a question, and count an answer during the block. Raises TooManyRequests."""
    held = await _holders(request, book)
    for quota, names in held:
        quota.take(names, CHARGES["/v1/chat"])
    with ExitStack() as stack:
        for quota, names in held:
            stack.enter_context(quota.answering(names))
        yield


async def search_quota(body: SearchRequest, request: Request) -> None:
    """Dependency: charge a search."""
    await charge_search(request, body.book)


async def charge_search(request: Request, book: BookId | None) -> None:
    """Charge the key and the books of a search. Raises TooManyRequests."""
    for quota, names in await _holders(request, book):
        quota.take(names, CHARGES["/v1/search"])


async def _holders(request: Request, book: BookId | None) -> Sequence[tuple[Quota, Sequence[str]]]:
    """Return the quotas to charge, each with its holders: the request's key, the books it asks."""
    found: Quotas = request.app.state.quotas
    key = key_of(request)
    books: Sequence[str] = books_for(request, book)
    if not books:
        rag: Application = request.app.state.application
        books = (await rag.index.books()).defaults
    return (found.keys, [key.digest] if key else []), (found.books, books)
