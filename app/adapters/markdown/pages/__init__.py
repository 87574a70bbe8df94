"""Renders a book's pages as HTML for the demo site; each block carries its paragraph id.

The pages are made from the parser's tokens, in the dialect of the book's site generator.
"""

from app.adapters.markdown.pages.render import render_pages

__all__ = ["render_pages"]
