"""The settings: one class that reads the environment and `.env` when built, never at import."""

import logging
import os
import re
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    Field,
    SecretStr,
    ValidationError,
    model_validator,
)
from pydantic_core import from_json, to_json
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from app.domain.answering.answerability import (
    ANSWER_THRESHOLD,
    REFUSAL_THRESHOLD,
    RELEVANCE_THRESHOLD,
)
from app.domain.cost import Price
from app.domain.errors import ConfigError
from app.domain.site_key import checked_origin
from app.domain.urls import is_web_address
from app.services.safe_paths import read_text

PRICES: Mapping[str, Price] = {
    "embed-v5.0-pro": Price(0.12),
    "embed-v5.0-fast": Price(0.08),
    "embed-v4.0": Price(0.12),
    "embed-english-v3.0": Price(0.10),
    "embed-english-light-v3.0": Price(0.10),
    "embed-multilingual-v3.0": Price(0.10),
    "embed-multilingual-light-v3.0": Price(0.10),
    "command-a-plus-05-2026": Price(2.50, 10.00),
    "command-a-03-2025": Price(2.50, 10.00),
    "command-r-plus-08-2024": Price(2.50, 10.00),
    "command-r-08-2024": Price(0.15, 0.60),
    "command-r7b-12-2024": Price(0.0375, 0.15),
    "rerank-v5.0-pro": Price(0.05),
    "rerank-v5.0-fast": Price(0.02),
    "rerank-v4.0-pro": Price(searches=2.50),
    "rerank-v4.0-fast": Price(searches=2.00),
    "rerank-v3.5": Price(searches=2.00),
    "rerank-english-v3.0": Price(searches=2.00),
    "rerank-multilingual-v3.0": Price(searches=2.00),
}
"""By model (https://cohere.com/pricing and catalogues of models, 2026).

Cohere publishes no price of Command A+: that of Command A stands in.
"""


class GivenPrice(BaseModel, extra="forbid", allow_inf_nan=False):
    """A `Price` in a setting."""

    input_tokens: float = Field(0.0, ge=0)
    output_tokens: float = Field(0.0, ge=0)
    searches: float = Field(0.0, ge=0)


def _value_of(given: object) -> object:
    """Return the value of a JSON text. ValueError if it is not valid."""
    return from_json(given) if isinstance(given, str) else given


def _web_address(text: str) -> str:
    if text and not is_web_address(text):
        raise ValueError("not an http or https address such as https://host.example:8000/v1")
    return text.rstrip("/")


def _each(check: Callable[[str], object]) -> BeforeValidator:
    """Split a comma-separated list, and check each entry."""

    def checked(given: str | tuple[str, ...]) -> tuple[str, ...]:
        entries = given.split(",") if isinstance(given, str) else given
        return tuple(str(check(one.strip())) for one in entries if one.strip())

    return BeforeValidator(checked)


def _origin_or_all(text: str) -> str:
    return text if text == "*" else checked_origin(text)


def _folder(path: Path) -> Path:
    if path.exists() and not path.is_dir():
        raise ValueError(f"{path} is not a folder")
    return path


WebAddress: TypeAlias = Annotated[str, AfterValidator(_web_address)]
"""An http or https URL without a slash at its end, or ""."""

SMALL_CONTEXT = 1_500
"""A model that reads no more tokens of paragraphs gets the short prompt: few rules, an example."""

_ENV_FILE = ".env"
_SKIPPED = re.compile(
    r"^(?![ \t]*(?:export\s+)?\w+\s*=(?![ \t]*(['\"])(?![\s\S]*\1)))"
    r"[^\w#\n]*(?:export\s+)?((?:RAG|CO|QDRANT)_\w+)",
    re.M,
)
"""A name at the start of a line that sets nothing: `RAG_PORT: 8000`, `RAG_HOME='/srv`."""
_ASSIGNED = re.compile(r"^\s*(?:export\s+)?(\w+)\s*=", re.M)


class Settings(BaseSettings):
    """Every setting of the program; `.env.example` says what each is for and its default.

    The docstrings here add what is not said there.
    """

    model_config = SettingsConfigDict(
        env_prefix="RAG_",
        env_file=_ENV_FILE,
        extra="ignore",
        populate_by_name=True,
        allow_inf_nan=False,
    )

    home: Annotated[Path, AfterValidator(_folder)] = Path(".rag")
    """Folder for all local state."""
    host: str = "127.0.0.1"
    port: int = Field(8000, ge=1, le=65_535)
    workers: int = Field(1, ge=1, le=100)

    cohere_api_key: SecretStr | None = Field(
        None, validation_alias=AliasChoices("CO_API_KEY", "COHERE_API_KEY")
    )
    cohere_base_url: WebAddress = "https://api.cohere.com"
    cohere_embed_model: str = Field(
        "embed-v5.0-pro,embed-v5.0-fast", pattern=r"^[^\s,]+(\s*,\s*[^\s,]+)?$"
    )
    """The models for books and for questions, of one vector space; one name stands for both."""
    cohere_chat_model: str = "command-a-plus-05-2026"
    cohere_rerank_model: str = "rerank-v5.0-fast"
    cohere_tier: Literal["trial", "production"] = "trial"
    """The kind of key, which determines the rate limits."""
    prices: Annotated[dict[str, GivenPrice], NoDecode, BeforeValidator(_value_of)] = {}
    """US dollars per million tokens and per thousand searches by model, as JSON; adds to and
    overrides `PRICES`."""
    budget_day: float | None = Field(None, ge=0)
    budget_month: float | None = Field(None, ge=0)
    question_log_days: int = Field(0, ge=0, le=36_500)
    """Without a log readers cannot give feedback."""

    embedder: str = Field("auto", pattern=r"^(auto|cohere|local|fastembed(:\S+)?)$")
    """auto: Cohere if a key is set, else local, the static model. fastembed:MODEL: a neural model
    in this process (extra `local`)."""
    reranker: str = Field("auto", pattern=r"^(auto|cohere|none|fastembed(:\S+)?)$")
    """auto: Cohere if it embeds or writes. fastembed:MODEL: a cross-encoder in this process (extra
    `local`), which also chooses the paragraphs of offline answers."""
    models: Annotated[Path, AfterValidator(_folder)] | None = None
    generator: Literal["auto", "cohere", "openai", "extractive"] = "auto"
    """auto: Cohere when a key is set, else a model server that runs on this machine, else
    extractive; openai: any server with that protocol."""
    openai_base_url: WebAddress = "http://127.0.0.1:11434/v1"
    openai_api_key: SecretStr | None = None
    openai_model: str = "llama3.1"

    qdrant_url: str | None = Field(None, validation_alias="QDRANT_URL")
    qdrant_api_key: SecretStr | None = Field(None, validation_alias="QDRANT_API_KEY")
    qdrant_grpc_port: int | None = Field(None, ge=1, le=65_535)
    qdrant_collection_prefix: str = Field("textbook", pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")
    qdrant_replicas: int = Field(1, ge=1)

    context_tokens: int = Field(3_000, ge=200)
    """Token budget of the paragraphs for the generator. Up to `SMALL_CONTEXT` the rest of the
    prompt is short, too."""
    refusal_threshold: float = Field(REFUSAL_THRESHOLD, ge=0.0, le=1.0)
    """Answerability score below which a question is refused; `eval` suggests a value."""
    answer_threshold: float = Field(ANSWER_THRESHOLD, ge=0.0, le=1.0)
    """Minimum answerability score of an answered question, as opposed to an uncertain one; `eval`
    suggests a value."""
    relevance_threshold: float = Field(RELEVANCE_THRESHOLD, ge=0.0, le=1.0)
    """Relevance by a calibrated reranker (Cohere 5) below which a question is not in the book; it
    replaces both of the above. `eval` suggests a value."""
    solutions: Literal["hide", "hint", "show"] = "hint"
    """How an exercise of the book is answered, unless the request sets it."""
    allowed_origins: Annotated[tuple[str, ...], NoDecode, _each(_origin_or_all)] = ()
    image_origins: Annotated[tuple[str, ...], NoDecode, _each(checked_origin)] = ()
    open: bool = False
    """Whether everybody may use the API without a key. If false, and while there are no keys, only
    this machine may use it."""
    trusted_proxies: Annotated[tuple[str, ...], NoDecode, _each(ip_network)] = ()
    """Addresses or networks of trusted proxies: only their `X-Forwarded-For` is used."""
    questions_per_minute: int = Field(300, ge=0)
    """Questions per minute from one address, also all at once; a search counts half, other requests
    nothing. 0 means no limit."""
    answers_at_once: int = Field(256, ge=1)
    """Maximum concurrent answers, streams included; further ones wait."""

    @model_validator(mode="before")
    @classmethod
    def _given(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Remove blanks around values, and empty values, which stand for the default."""
        stripped = {
            name: value.strip() if isinstance(value, str) else value
            for name, value in values.items()
        }
        return {name: value for name, value in stripped.items() if value != ""}

    @property
    def models_folder(self) -> Path:
        return self.models or self.home / "models"

    def price(self, model: str) -> Price | None:
        """Return None for a model whose price is not known."""
        if given := self.prices.get(model):
            return Price(**given.model_dump())
        return PRICES.get(model)

    def as_environment(self) -> dict[str, str]:
        """Return the environment variables from which another process reads the same settings."""
        folders = {"home": self.home.absolute(), "models": self.models and self.models.absolute()}
        return {variable(name): _text(value) for name, value in {**dict(self), **folders}.items()}


def read_settings() -> Settings:
    """Read the environment and `.env`. InputError or ConfigError if a value is invalid."""
    if Path(_ENV_FILE).is_file():
        read_text(Path(_ENV_FILE))
    logging.getLogger("dotenv").addHandler(logging.NullHandler())  # see `unknown_variables`
    try:
        return Settings()
    except ValidationError as error:
        first = error.errors()[0]
        setting, *rest = (str(part) for part in first["loc"])
        name = ".".join([variable(setting), *rest])
        said = first["msg"].removeprefix("Value error, ")
        raise ConfigError(f"{name}: {said} (see .env.example)") from None


def variable(field: str) -> str:
    """Return the environment variable of a setting; an alias is returned unchanged."""
    known = Settings.model_fields.get(field)
    if known is None:
        return field
    alias = known.validation_alias
    first = alias.choices[0] if isinstance(alias, AliasChoices) else alias
    return str(first or f"RAG_{field.upper()}")


def _text(value: object) -> str:
    """Return a setting's value as in the environment; "" stands for the default."""
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    if value is None:
        return ""
    if isinstance(value, tuple):
        return ",".join(value)
    return str(value) if isinstance(value, str | Path) else to_json(value).decode()


def unknown_variables() -> Iterator[str]:
    """Yield a warning for what is set in the environment or `.env` but is not a setting."""
    settings = {variable(field) for field in Settings.model_fields}
    written = read_text(Path(_ENV_FILE)) if Path(_ENV_FILE).is_file() else ""
    written = written.removeprefix("\ufeff")
    given = {name.upper() for name in [*os.environ, *_ASSIGNED.findall(written)]}
    for name in sorted(given - settings):
        ours = name.startswith("RAG_") and not name.startswith("RAG_TEST_")  # only tests read these
        similar = get_close_matches(name, settings, n=1, cutoff=0.8 if ours else 0.9)
        if ours or similar:
            hint = f"did you mean {similar[0]}?" if similar else "see .env.example"
            yield f"{name} is not a setting; {hint}"
    for line in _SKIPPED.finditer(written):
        number = written.count("\n", 0, line.start(2)) + 1
        yield f"{_ENV_FILE}:{number}: sets nothing: write {line[2]}=value"
