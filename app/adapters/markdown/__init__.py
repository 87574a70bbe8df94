"""Markdown books, read with markdown-it-py and the conventions of their site generators."""

from app.adapters.markdown.book import editions_of, read_book, read_text
from app.adapters.markdown.opening import detected_site, site_around, site_below

__all__ = [
    "detected_site",
    "editions_of",
    "read_book",
    "read_text",
    "site_around",
    "site_below",
]
