"""The speed of a model server decides how much it is given to read, and how long it may take."""

from __future__ import annotations

import pytest

from app.services.prompt_speed import ASSUMED_TOKENS_PER_SECOND, MIN_MEASURED, PromptSpeed


def test_prompt_follows_the_measured_speed() -> None:
    speed = PromptSpeed(first_token_seconds=20.0)
    assert speed.prompt_tokens == 20 * ASSUMED_TOKENS_PER_SECOND
    speed.measured(1_000, 40.0)
    assert speed.prompt_tokens == 500
    speed.measured(1_000, 10.0)
    assert speed.prompt_tokens == 800  # (40 + 10) / 2 ms a token


def test_limit_is_the_longest_until_the_speed_is_known_and_then_follows_it() -> None:
    speed = PromptSpeed(least_limit=60.0, most_limit=120.0)
    assert speed.limit(10) == 120.0
    speed.measured(1_000, 50.0)
    assert [speed.limit(tokens) for tokens in (100, 500, 10_000)] == [60.0, 75.0, 120.0]


def test_prompt_from_the_cache_says_nothing() -> None:
    speed = PromptSpeed()
    speed.measured(MIN_MEASURED - 1, 30.0)
    assert speed.limit(1_000) == speed.most_limit


def test_timeout_makes_the_estimate_slower_but_never_faster() -> None:
    speed = PromptSpeed(first_token_seconds=20.0)
    speed.timed_out(1_000, 100.0)
    assert speed.prompt_tokens == 200
    speed.timed_out(1_000, 50.0)
    assert speed.prompt_tokens == 200


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
    assert record.__dict__["prompt_tokens_per_second"] == 25.0
    assert "RAG_CONTEXT_TOKENS" in record.__dict__["settings"]
    speed.shortened(3_000, 3_000)
    speed.shortened(400, 3_000)
    assert len(caplog.records) == 2
