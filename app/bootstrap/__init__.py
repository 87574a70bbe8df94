"""The composition root: the only package that builds clients and connects the use cases to them.

The entries reach every adapter through it.
"""

from app.adapters.plots import Curve, bar_charts, curves, require_plots
from app.adapters.question_file import read_questions
from app.bootstrap.application import (
    Application,
    application,
    index_only,
    ledger_store,
    migration,
    storage_warnings,
    verifying,
)
from app.bootstrap.books import (
    SAMPLE_BOOK,
    SAMPLE_BOOK_ID,
    chunk_book,
    chunk_report,
    read_identified,
    read_source,
    sample_pages,
    sample_request,
    strategy_of,
    stream_book,
)

__all__ = [
    "SAMPLE_BOOK",
    "SAMPLE_BOOK_ID",
    "Application",
    "Curve",
    "application",
    "bar_charts",
    "chunk_book",
    "chunk_report",
    "curves",
    "index_only",
    "ledger_store",
    "migration",
    "read_identified",
    "read_questions",
    "read_source",
    "require_plots",
    "sample_pages",
    "sample_request",
    "storage_warnings",
    "strategy_of",
    "stream_book",
    "verifying",
]
