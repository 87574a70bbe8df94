"""A folder of Markdown without a site generator."""
