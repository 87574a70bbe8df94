"""Renders Markdown and notebooks to pages for the builder of blocks."""
