"""Reads settings in Sphinx's `conf.py` without running it."""

from __future__ import annotations

import ast
import warnings


def literal_setting(text: str, name: str) -> object:
    """Return a setting that is written as a literal; None if it is computed or missing."""
    try:
        with warnings.catch_warnings(action="ignore"):  # of the file's own escapes
            statements = ast.parse(text).body
        values = [
            each.value
            for each in statements
            if isinstance(each, ast.Assign)
            and any(isinstance(target, ast.Name) and target.id == name for target in each.targets)
        ]
        return ast.literal_eval(values[-1]) if values else None
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
