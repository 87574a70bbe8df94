"""Markdown books, read with markdown-it-py and the conventions of their site generators."""

from app.adapters.markdown.book import detect_site, read_book, read_text

__all__ = ["detect_site", "read_book", "read_text"]
