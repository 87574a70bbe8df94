"""The composition root: the only place that builds clients and puts the use cases together."""

from app.bootstrap.application import Application, application, index_only, migration, verifying
from app.bootstrap.chunking import chunk_book, chunk_report
from app.bootstrap.reading import read_identified, read_source, source_stamp, strategy_of
from app.bootstrap.sample import SAMPLE_BOOK, SAMPLE_BOOK_ID, sample_pages, sample_request
from app.bootstrap.storage import storage_warnings

__all__ = [
    "SAMPLE_BOOK",
    "SAMPLE_BOOK_ID",
    "Application",
    "application",
    "chunk_book",
    "chunk_report",
    "index_only",
    "migration",
    "read_identified",
    "read_source",
    "sample_pages",
    "sample_request",
    "source_stamp",
    "storage_warnings",
    "strategy_of",
    "verifying",
]
