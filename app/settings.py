"""The settings: one class, read from the environment and `.env` when built, never at import."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import AliasChoices, Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """Every setting of the program; `.env.example` lists them with their defaults."""

    model_config = SettingsConfigDict(
        env_prefix="RAG_", env_file=".env", extra="ignore", populate_by_name=True
    )

    home: Path = Path(".rag")
    """Folder that holds all local state."""
    host: str = "127.0.0.1"
    port: int = 8000

    cohere_api_key: SecretStr | None = Field(
        None, validation_alias=AliasChoices("CO_API_KEY", "COHERE_API_KEY")
    )
    cohere_base_url: str = "https://api.cohere.com"
    cohere_embed_model: str = "embed-v4.0"
    cohere_embed_dimension: int = 1024
    cohere_chat_model: str = "command-a-03-2025"
    cohere_rerank_model: str = "rerank-v3.5"
    cohere_tier: Literal["trial", "production"] = "trial"
    """The kind of key: which rate limits calls keep to."""
    cohere_timeout_seconds: float = 30.0
    cohere_batch_tokens: int = 48_000
    """Most tokens, by our own count, in one embed call (beside at most 96 texts)."""

    embedder: Literal["auto", "cohere", "local"] = "auto"
    """auto: Cohere when a key is set, else the local model."""
    generator: Literal["auto", "cohere", "openai", "extractive"] = "auto"
    """auto: Cohere when a key is set, else extractive; openai: any server with that protocol."""
    openai_base_url: str = "http://127.0.0.1:11434/v1"
    openai_api_key: SecretStr | None = None
    openai_model: str = "llama3.1"
    openai_timeout_seconds: float = 60.0

    qdrant_url: str | None = Field(None, validation_alias="QDRANT_URL")
    qdrant_api_key: SecretStr | None = Field(None, validation_alias="QDRANT_API_KEY")
    qdrant_collection_prefix: str = "textbook"

    strategy: str = "structure"
    dense_weight: float = Field(0.5, ge=0.0, le=1.0)
    """Share of the dense score in the fused one; the rest is BM25's."""
    context_tokens: int = Field(3_000, ge=200)
    """Token budget of the paragraphs given to the generator."""
    max_question_chars: int = 4_000
    admin_key: SecretStr | None = None
    allowed_origins: str = ""
    """Comma-separated origins that may call the API from a browser; empty: same origin only."""
