"""Sparse vectors: index terms of a text, weighted by BM25."""

from app.adapters.bm25.encoder import Bm25Encoder

__all__ = ["Bm25Encoder"]
