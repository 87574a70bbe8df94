"""Providers called over HTTP: Cohere's embeddings, rankings and chat; servers of OpenAI's protocol.

`import cohere` is lazy, but the first use of its client takes half a second: `open_client` does it.
"""
