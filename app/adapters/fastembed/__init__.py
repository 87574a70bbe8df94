"""Local neural models by fastembed: embedder, reranker of paragraphs.

`import fastembed` takes about a second. It is delayed until a model is loaded.
"""
