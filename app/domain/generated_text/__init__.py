"""The text of a model while it is streamed: its citations, and what of it may be shown."""
