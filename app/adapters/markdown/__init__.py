"""Markdown books, read with markdown-it-py and the conventions of their site generators."""

from app.adapters.markdown.book import editions_of, read_book, read_text

__all__ = ["editions_of", "read_book", "read_text"]
