"""Settings are handed to another process by its environment."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import SecretStr

from app.settings import GivenPrice, Settings


def test_another_process_reads_the_same_settings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Also where its environment or `.env` says otherwise."""
    given = Settings(
        _env_file=None,
        home=tmp_path,
        cohere_api_key=SecretStr("secret"),
        qdrant_url=None,
        prices={"small": GivenPrice(input_tokens=0.5)},
        open=True,
        budget_day=None,
    )
    monkeypatch.chdir(tmp_path)
    Path(".env").write_text("RAG_BUDGET_DAY=3\nQDRANT_URL=http://other\nCOHERE_API_KEY=other\n")
    monkeypatch.setenv("RAG_PORT", "9")
    for name, value in given.as_environment().items():
        monkeypatch.setenv(name, value)
    assert Settings() == given
