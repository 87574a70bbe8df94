"""Ingest with Cohere against the local double, on a clock that costs no time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.adapters.providers.cohere_client import open_client
from app.adapters.providers.cohere_embedder import CohereEmbedder
from app.adapters.tokens import token_counter
from app.domain.cost import Price, Tariff
from app.domain.errors import ProviderRejected
from app.settings import Settings
from tests.cohere_double import CohereDouble, Fault, seeded_faults
from tests.command_line import Run
from tests.ingesting import BOOK, Bench, edit, make_book, open_bench, prose
from tests.provider_fakes import cohere_embedder

PRICE = 0.12


@pytest.fixture
def book(tmp_path: Path) -> Path:
    return make_book(tmp_path / "lamps", pages=12)


@pytest.fixture
def double() -> Iterator[CohereDouble]:
    with CohereDouble(count_tokens=token_counter()) as served:
        yield served


@pytest.fixture
async def bench(home: Path, double: CohereDouble) -> AsyncIterator[Bench]:
    """Small batches, so that a small book takes many calls."""
    async with open_client(double.key, double.url) as client, open_bench(home) as bench:
        small, price = Tariff(tokens_per_call=1_000), Price(PRICE)
        embedder = cohere_embedder(client, small, count_tokens=token_counter(), price=price)
        bench.use_case = replace(bench.use_case, embedder=embedder)
        yield bench


def assert_all_billed_once(double: CohereDouble) -> None:
    assert set(double.billed.values()) == {1}


async def test_with_a_fifth_of_calls_failing_no_chunk_is_lost_and_each_is_billed_once(
    bench: Bench, double: CohereDouble, tmp_path: Path
) -> None:
    double.random_faults = seeded_faults(0, 0.2)
    report = await bench.ingest(make_book(tmp_path / "large", pages=60))
    assert len(double.to("embed")) > report.batches > 40
    assert report.embedded == len(double.billed) == report.chunks == 120
    assert_all_billed_once(double)
    stored = await bench.points()
    assert {one.chunk.embedding_text for one in stored} == set(double.billed)


async def test_a_refused_text_leaves_the_old_index(
    bench: Bench, double: CohereDouble, book: Path
) -> None:
    await bench.ingest(book)
    before = await bench.points()
    edit(book / "page5.md", prose("page5 part1"), "Endless " + prose("endless", 480))
    edit(book / "page7.md", "Page7 part1", "Quite harmless")
    double.fail(Fault(status=400, message="no such text"), endpoint="embed")
    with pytest.raises(ProviderRejected, match="no such text"):
        await bench.ingest(book)
    assert await bench.points() == before
    assert (await bench.ingest(book)).generation == 2
    assert_all_billed_once(double)


async def test_a_dry_run_tells_what_will_be_billed(
    double: CohereDouble, bench: Bench, book: Path
) -> None:
    for _ in range(2):
        billed = double.billed_tokens
        dry = await bench.ingest(book, dry_run=True)
        assert double.billed_tokens == billed, "a dry run costs nothing"
        calls = len(double.to("embed"))
        real = await bench.ingest(book)
        spent = double.billed_tokens - billed
        assert dry.tokens == pytest.approx(spent, rel=0.02)
        assert dry.batches == len(double.to("embed")) - calls
        assert dry.usd == pytest.approx(spent * PRICE / 1e6, rel=0.02)
        assert real.billed_tokens == spent
        assert real.usd == pytest.approx(spent * PRICE / 1e6)
        edit(book / "page3.md", "Page3 part0", "Another lamp")


def test_the_command_prints_cost_and_rate_limit(run: Run, tmp_path: Path) -> None:
    book = make_book(tmp_path / "lamps", pages=12)
    with CohereDouble(count_tokens=token_counter()) as double:
        environment = {
            "CO_API_KEY": double.key,
            "RAG_COHERE_BASE_URL": double.url,
            "RAG_PRICES": '{"embed-v5.0-pro": {"input_tokens": 1000}}',
        }
        dry = run("ingest", book, "--book", BOOK, "--dry-run", "--json", **environment).json()
        assert dry["minutes"] == pytest.approx(dry["tokens"] / 100_000, abs=0.01)
        assert dry["usd"] == pytest.approx(dry["tokens"] / 1000)
        text = run("ingest", book, "--book", BOOK, "--dry-run", **environment).out
        assert "24 would be embedded" in text
        assert f"{dry['tokens']:,} tokens" in text
        assert "s at the rate limit" in text
        assert double.billed_tokens == 0
        real = run("ingest", book, "--book", BOOK, **environment)
        assert real.code == 0, real.err
        assert f"{double.billed_tokens:,} tokens billed" in real.out
        assert f"${double.billed_tokens / 1000:.4f}" in real.out
        unknown = {**environment, "RAG_COHERE_EMBED_MODEL": "embed-v9"}
        assert "price unknown" in run("ingest", book, "--dry-run", **unknown).out


async def test_texts_that_the_model_cuts_are_warned_of(
    double: CohereDouble, bench: Bench, book: Path
) -> None:
    embedder = bench.use_case.embedder
    assert isinstance(embedder, CohereEmbedder)
    assert (await bench.ingest(book)).warnings == []
    embedder.tariff = replace(embedder.tariff, tokens_per_text=30)
    edit(book / "page1.md", "Page1 part1", "Newer words")
    (warning,) = (await bench.ingest(book)).warnings
    assert warning.startswith("1 texts exceed the 30 tokens that embed-v4.0 reads")


def test_prices_can_be_set_and_the_known_ones_stay() -> None:
    given = {"mine": {"input_tokens": 1.5}, "embed-v4.0": {"input_tokens": 0.2}, "free": {}}
    settings = Settings.model_validate({"prices": given})
    names = ("mine", "embed-v4.0", "embed-english-v3.0", "free")
    assert [settings.price(name) for name in names] == [Price(1.5), Price(0.2), Price(0.1), Price()]
    assert settings.price("never heard of") is None
