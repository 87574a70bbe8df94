"""The parser that all Markdown dialects share: blocks, inline mark-up, source spans."""
