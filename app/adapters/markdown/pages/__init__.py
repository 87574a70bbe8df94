"""A book's pages as HTML, each block tagged with its paragraph id. Library: markdown-it-py.

For the demo site, which has no Docusaurus build: what the generator does to text, links, heading
ids and the common MDX components is done here from the same source.
"""

from app.adapters.markdown.pages.render import render_pages

__all__ = ["render_pages"]
