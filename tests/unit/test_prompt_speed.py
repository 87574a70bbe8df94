"""The speed of a model server decides how much it is given to read."""

from __future__ import annotations

import pytest

from app.services.prompt_speed import MIN_MEASURED, PromptSpeed


def test_prompt_follows_the_measured_speed() -> None:
    speed = PromptSpeed()
    assert speed.prompt_tokens == 1_500
    for _ in range(10):
        speed.measured(1_000, 40.0)
    assert speed.prompt_tokens == pytest.approx(500, abs=2)
    speed.measured(1_000, 10.0)
    assert speed.prompt_tokens == pytest.approx(800, abs=2)  # (40 + 10) / 2 ms a token


def test_prompt_from_the_cache_says_nothing() -> None:
    speed = PromptSpeed()
    speed.measured(MIN_MEASURED - 1, 30.0)
    assert speed.prompt_tokens == PromptSpeed().prompt_tokens


def test_slow_server_is_logged_once_with_the_settings_that_help(
    caplog: pytest.LogCaptureFixture,
) -> None:
    speed = PromptSpeed()
    speed.shortened(900, 3_000)  # not measured yet
    assert caplog.records == []
    speed.measured(1_000, 40.0)
    for _ in range(2):
        speed.shortened(400, 3_000)
    (record,) = caplog.records
    assert (record.levelname, record.message) == ("WARNING", "openai.slow_server")
    assert record.__dict__["prompt_tokens_per_second"] == 37.5
    assert record.__dict__["setting"] == "RAG_CONTEXT_TOKENS"
    speed.shortened(3_000, 3_000)
    speed.shortened(400, 3_000)
    assert len(caplog.records) == 2
