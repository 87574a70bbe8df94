"""Cohere through its Python SDK: embeddings, reranking, grounded answers.

`import cohere` takes 0.2 to 0.7 s and 44 MB. It is delayed until a client is opened.
"""
