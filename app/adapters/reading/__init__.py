"""Reads the pages of a book, built or rendered from Markdown, into documents of blocks."""
