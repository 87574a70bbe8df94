"""MkDocs and Material for MkDocs: Python-Markdown's and pymdown's extensions."""
