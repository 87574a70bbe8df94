"""Markdown books, read with markdown-it-py and the conventions of their site generators."""

from app.adapters.markdown.book import editions_of, read_book, read_text
from app.adapters.markdown.opening import site_around

__all__ = ["editions_of", "read_book", "read_text", "site_around"]
