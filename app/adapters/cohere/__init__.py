"""Cohere through its own SDK: embeddings, reranking, grounded answers.

`import cohere` costs 0.2 to 0.7 s and 44 MB, so it happens when a client is opened, not before.
"""
