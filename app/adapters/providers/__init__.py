"""Providers called over HTTP: Cohere's models, and servers of OpenAI's protocol."""
