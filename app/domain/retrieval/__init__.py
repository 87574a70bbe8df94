"""Retrieval: queries, score fusion, reranking by features, and context assembly."""
