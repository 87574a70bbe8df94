"""The error classes.

RagError                    the message is for users and never contains a secret
├── InputError              the caller's input is wrong            CLI exit 2, HTTP 422
│   ├── BookError           a book's source cannot be read         names file and line
│   │   └── FileRefused     a page over the budget, or unreadable  can be skipped instead
│   └── QuestionError       an empty or oversized question
├── BookNotFound            no such book in the index              CLI exit 2, HTTP 404
├── BookNotAllowed          the key is for other books             HTTP 403
├── AnswerNotFound          no such answer in the question log     CLI exit 2, HTTP 404
├── ConfigError             settings are missing or contradictory  CLI exit 2, HTTP 500
├── IndexMismatch           index made by another model            CLI exit 2, HTTP 409
├── IndexBusy               another ingest of the book is running  CLI exit 2, HTTP 409
├── RetryLater              the server refuses for a while         retry_after
│   ├── Overloaded          too many requests at once              HTTP 503
│   ├── TooManyRequests     a key or book is over its limit        HTTP 429
│   └── ShuttingDown        the server stopped before the answer   HTTP 503
├── StorageError            disk or index store failed             CLI exit 1, HTTP 503
│   └── IndexUnreadable     damaged or of another version          the next ingest replaces it
└── ProviderError           a remote service failed                CLI exit 1, HTTP 502
    ├── ProviderAuthError   it refused the key (401, 403)          CLI exit 2, HTTP 502
    ├── ProviderRateLimited it sent "too many requests" (429)      HTTP 503, retry_after
    │   └── BudgetSpent     the owner's spending limit is reached  CLI exit 1, HTTP 503
    ├── ProviderRejected    it refused this input (400, 413, 422)  HTTP 502
    └── ProviderUnavailable 5xx, timeout, dropped connection       HTTP 503
"""

from collections.abc import Collection
from typing import Self

NO_BOOKS = "no book is indexed yet: run `textbook-rag ingest BOOK_DIR` first"


class RagError(Exception):
    """Base of all errors. `code` is the stable name used in JSON and SSE."""

    code = "internal"
    exit_code = 1


class InputError(RagError, ValueError):
    code = "invalid_input"
    exit_code = 2


def place(file: str, line: int) -> str:
    """Return `file:line`, the file alone if `line` is 0. A notebook's lines are its Markdown's."""
    if not line:
        return file
    return f"{file}:{line}{' (as Markdown)' if file.lower().endswith('.ipynb') else ''}"


class BookError(InputError):
    """A problem in a book's source; `str()` is `file:line: problem` if the line is known."""

    code = "invalid_book"

    def __init__(self, message: str, file: str = "", line: int = 0) -> None:
        super().__init__(f"{place(file, line)}: {message}" if file else message)
        self.problem = message
        self.file = file
        self.line = line


class FileRefused(BookError):
    """A file exceeds the reading budget, or a page is not UTF-8 or a broken notebook."""

    code = "file_refused"


class QuestionError(InputError):
    code = "invalid_question"


class BookNotFound(RagError):
    code = "book_not_found"
    exit_code = 2

    @classmethod
    def of(cls, book: str) -> Self:
        return cls(f"no book {book!r} in the index")

    @classmethod
    def among(cls, book: str, indexed: Collection[str]) -> Self:
        """The error for a book that is not one of the indexed books."""
        if not indexed:
            return cls(f"no book {book!r}: {NO_BOOKS}")
        return cls(f"no book {book!r} in the index; there are: {', '.join(sorted(indexed))}")


class BookNotAllowed(RagError):
    code = "book_not_allowed"


class AnswerNotFound(RagError):
    code = "answer_not_found"
    exit_code = 2


class ConfigError(RagError):
    code = "misconfigured"
    exit_code = 2


class IndexMismatch(RagError):
    code = "index_mismatch"
    exit_code = 2


class IndexBusy(RagError):
    code = "index_busy"
    exit_code = 2


class RetryLater(RagError):
    """Base of the server's own refusals; `retry_after` in seconds."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Overloaded(RetryLater):
    code = "overloaded"


class TooManyRequests(RetryLater):
    code = "too_many_requests"


class ShuttingDown(RetryLater):
    code = "shutting_down"


class StorageError(RagError):
    code = "storage_failed"


class IndexUnreadable(StorageError):
    code = "index_unreadable"


class ProviderError(RagError):
    """`retry_after` in seconds, if the provider named a time; `status` is its HTTP status."""

    code = "provider_failed"

    def __init__(
        self,
        message: str,
        retry_after: float | None = None,
        *,
        status: int | None = None,
        said: str = "",
    ) -> None:
        """`said` is the provider's message. It may quote the input, so it is not logged."""
        super().__init__(f"{message}: {said}" if said else message)
        self.reason = message
        self.said = said
        self.retry_after = retry_after
        self.status = status


class ProviderAuthError(ProviderError):
    code = "provider_auth"
    exit_code = 2


class ProviderRateLimited(ProviderError):
    code = "provider_rate_limited"


class BudgetSpent(ProviderRateLimited):
    """The call was not made: the owner's daily or monthly spending limit is reached."""

    code = "budget_spent"


class ProviderRejected(ProviderError):
    code = "provider_rejected"


class ProviderUnavailable(ProviderError):
    code = "provider_unavailable"
