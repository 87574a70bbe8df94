"""Markdown books, read with markdown-it-py and the conventions of their site generators."""

from app.adapters.markdown.book import detect_site, editions_of, read_book, read_text

__all__ = ["detect_site", "editions_of", "read_book", "read_text"]
