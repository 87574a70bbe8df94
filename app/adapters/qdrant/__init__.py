"""The index in Qdrant: in this process (`edge`) or on a server (`server`).

The modules `edge*` belong to the first, `server*` to the second; both use the others.

In both, an ingest writes a book as a new immutable generation and switches readers to it in one
step; see specs/decisions/0002-index-generations.md.
"""
