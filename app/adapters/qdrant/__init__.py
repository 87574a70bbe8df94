"""The index in Qdrant: in this process (`edge`) or on a server (`server`).

Both keep every published book as an immutable generation and switch readers in one step; see
specs/decisions/0002-index-generations.md.
"""
