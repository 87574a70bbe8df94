"""Reads the pages of a book."""
