"""Jupyter notebooks among a book's files: read as Markdown, shown with their outputs."""

from __future__ import annotations


def is_notebook(file: str) -> bool:
    """Whether a file is a Jupyter notebook, by its name."""
    return file.lower().endswith(".ipynb")
