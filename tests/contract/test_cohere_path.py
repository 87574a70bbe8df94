"""The whole path with Cohere: real SDK, HTTP double; ingest, cost, search, cited answer."""

import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from app.adapters.providers.cohere_client import open_client
from app.adapters.providers.cohere_embedder import CohereEmbedder
from app.adapters.tokens import token_counter
from app.domain.cost import Price, Tariff
from app.domain.errors import ProviderRejected
from app.settings import Settings
from tests.cohere_double import CohereDouble, Fault, seeded_faults
from tests.command_line import LAMPS, Result, Run, write_questions
from tests.ingesting import Bench, edit, make_book, open_bench, prose
from tests.provider_fakes import cohere_embedder

QUESTION = "What does the Fresnel lens do?"
FOREIGN = "Which chess opening did Capablanca prefer?"
PRICE = 0.12


@pytest.fixture
def double() -> Iterator[CohereDouble]:
    with CohereDouble(count_tokens=token_counter()) as served:
        yield served


@pytest.fixture
def command(run: Run, tiny: Path, double: CohereDouble) -> Run:
    """The command line with a key of the double, beside the folder of the tiny book."""
    return partial(run, CO_API_KEY=double.key, RAG_COHERE_BASE_URL=double.url)


@pytest.fixture
def indexed(command: Run, tiny: Path) -> Result:
    """The report of the ingest of the tiny book."""
    report = command("ingest", tiny, "--json")
    assert report.code == 0, report.err
    return report


def test_a_key_turns_ingest_and_answers_over_to_cohere(
    command: Run, indexed: Result, double: CohereDouble
) -> None:
    assert indexed.json()["embedded"] > 0
    assert "embed-v5.0, 1024 dimensions" in indexed.err
    assert {(call.body["model"], call.body["input_type"]) for call in double.to("embed")} == {
        ("embed-v5.0-pro", "search_document")
    }
    answer = command("ask", QUESTION, "--json").json()
    chat, asked = double.to("chat")[-1].body, double.to("embed")[-1].body
    assert (asked["model"], asked["input_type"]) == ("embed-v5.0-fast", "search_query")
    assert double.to("rerank")[-1].body["model"] == "rerank-v5.0-fast"
    assert (answer["mode"], answer["degraded"]) == ("generated", [])
    assert "Fresnel lens" in answer["answer"]
    (citation, *_) = answer["citations"]
    assert citation["quote"] in LAMPS["lamps.md"]
    # The double cites a sentence without its full stop; attribution would cite all of it.
    cited = answer["answer"][citation["start"] : citation["end"]]
    assert f"{cited}." in answer["answer"]
    assert citation["quote"] in str([document["data"]["text"] for document in chat["documents"]])


def test_a_refused_key_is_one_line_and_leaves_nothing(command: Run) -> None:
    result = command("ingest", "tiny", CO_API_KEY="wrong")
    assert "CO_API_KEY" in result.refusal()
    assert "wrong" not in result.err
    assert command("books", "--json").out == "[]\n"
    assert command("ingest", "tiny").code == 0


@pytest.mark.usefixtures("indexed")
def test_pro_and_fast_share_an_index_and_another_space_is_refused(
    command: Run, double: CohereDouble
) -> None:
    calls = len(double.to("embed"))
    fast = partial(command, RAG_COHERE_EMBED_MODEL="embed-v5.0-fast")
    assert fast("ingest", "tiny", "--json").json()["unchanged"]
    assert len(double.to("embed")) == calls
    assert fast("ask", QUESTION, "--json").json()["degraded"] == []
    older = command("ask", QUESTION, RAG_COHERE_EMBED_MODEL="embed-v4.0")
    assert "indexed with embed-v5.0 (1024" in older.refusal()
    refused = command("ask", QUESTION, RAG_COHERE_EMBED_MODEL="embed-v5.0-pro, embed-v4.0")
    assert "not comparable" in refused.refusal()


@pytest.mark.parametrize(
    ("model", "threshold", "confidence"),
    [
        ("rerank-v5.0-fast", "0.5", "answered"),
        ("rerank-v5.0-fast", "0.9", "not_in_book"),
        ("rerank-v3.5", "0.9", "uncertain"),
    ],
)
@pytest.mark.usefixtures("indexed")
def test_only_a_calibrated_ranking_decides_what_the_book_answers(
    command: Run, model: str, threshold: str, confidence: str
) -> None:
    """Two of the three words of the question are in the book."""
    settings = {"RAG_COHERE_RERANK_MODEL": model, "RAG_RELEVANCE_THRESHOLD": threshold}
    question = "What does the Fresnel lens paint?"
    found = command("ask", question, "--json", RAG_GENERATOR="extractive", **settings).json()
    assert (found["confidence"], found["degraded"]) == (confidence, [])


@pytest.mark.usefixtures("indexed")
def test_without_the_ranking_the_offline_score_decides(command: Run, double: CohereDouble) -> None:
    double.fail(*[Fault()] * 4, endpoint="rerank")
    answer = command("ask", QUESTION, "--json", RAG_RELEVANCE_THRESHOLD="1").json()
    assert (answer["confidence"], answer["degraded"]) == ("answered", ["rerank"])


def question_file(folder: Path, *questions: dict[str, Any]) -> Path:
    """All of the lamps page answers a question, unless it is not answerable."""
    gold = [{"file": "lamps.md", "start": 0, "end": len(LAMPS["lamps.md"])}]
    return write_questions(folder / "q.jsonl", ({"gold": gold, **one} for one in questions))


@pytest.fixture
def questions(home: Path) -> Path:
    """Two questions that the lamps page answers, and one that no page does."""
    other = {"question": "How does the Fresnel lens bend light?"}
    foreign = {"question": FOREIGN, "answerable": False, "gold": []}
    return question_file(home, {"question": QUESTION}, other, foreign)


@pytest.mark.usefixtures("indexed")
def test_calibration_suggests_the_one_threshold_of_a_calibrated_ranking(
    command: Run, questions: Path
) -> None:
    lines = command("eval", questions, "--calibrate").out.splitlines()
    refusal = command("eval", questions, "--calibrate", "--json").json()["refusal"]
    assert [line.split("=")[0] for line in lines[-2:]] == ["RAG_RELEVANCE_THRESHOLD"] * 2
    assert (refusal["setting"], refusal["auroc"]) == ("RAG_RELEVANCE_THRESHOLD", 1)


@pytest.mark.usefixtures("indexed")
def test_helpfulness_is_measured_on_answers_that_the_model_writes(
    command: Run, double: CohereDouble, questions: Path
) -> None:
    found = command("eval", questions, "--helpful", "--json").json()
    (written_by,) = {call.body["model"] for call in double.to("chat")}
    assert (found["run"]["generator"], found["run"]["embedder"]) == (written_by, "embed-v5.0")
    assert [row["mode"] for row in found["questions"]] == ["generated", "generated", "refused"]
    assert found["cited_gold"] == found["unanswerable_refused"] == 1
    assert found["citation_precision"] > 0
    assert found["degraded"] == 0


@pytest.mark.usefixtures("indexed")
def test_the_model_rewrites_follow_ups(command: Run, double: CohereDouble, home: Path) -> None:
    """Only the question before it makes it one about the lamps."""
    history = [{"role": "user", "content": QUESTION}]
    path = question_file(home, {"question": "And why?", "history": history})
    by_model = command("eval", path, "--json").json()
    (chat,) = double.to("chat")
    command("eval", path, "--helpful", "--json")
    rewriting, *_, answering = double.to("chat")[1:]
    assert (by_model["hit@1"], by_model["run"]["generator"]) == (1, chat.body["model"])
    for request in (chat, rewriting):
        assert request.body["messages"][-1]["content"].endswith("Last question: And why?")
    assert answering.body["stream"]


@pytest.mark.usefixtures("indexed")
def test_at_the_ceiling_answers_are_extractive(command: Run, double: CohereDouble) -> None:
    answer = command("ask", QUESTION, "--json", RAG_BUDGET_DAY="0.05").json()
    assert (answer["mode"], answer["degraded"]) == ("generated", [])
    calls = len(double.requests)
    spent = partial(command, RAG_BUDGET_DAY="0.000001")
    answer = spent("ask", QUESTION, "--json").json()
    assert len(double.requests) == calls
    assert (answer["mode"], answer["degraded"]) == ("extractive", ["budget"])
    assert "Fresnel lens" in answer["answer"]
    foreign = spent("ask", FOREIGN, "--json")
    assert (foreign.code, foreign.json()["mode"]) == (0, "refused")


def test_a_spent_budget_ends_an_ingest_with_one_line(command: Run, double: CohereDouble) -> None:
    stopped = command("ingest", "tiny", RAG_BUDGET_MONTH="0")
    assert "RAG_BUDGET_MONTH" in stopped.refusal(1)
    program = command("ingest", "tiny", "--json", RAG_BUDGET_MONTH="0").err.splitlines()
    assert json.loads(program[-2])["message"].endswith("run the ingest again for the rest")
    assert double.requests == []


def test_a_budget_needs_prices(command: Run) -> None:
    settings = {"RAG_COHERE_CHAT_MODEL": "command-z", "RAG_BUDGET_DAY": "1"}
    assert "RAG_PRICES" in command("ask", "Why?", **settings).refusal()
    settings["RAG_PRICES"] = '{"command-z": {"input_tokens": 1, "output_tokens": 2}}'
    assert command("ingest", "tiny", **settings).code == 0


# --- what an ingest costs


@pytest.fixture
def book(tmp_path: Path) -> Path:
    return make_book(tmp_path / "lamps", pages=12)


@pytest.fixture
async def bench(home: Path, double: CohereDouble) -> AsyncIterator[Bench]:
    """Small batches, so that a small book takes many calls."""
    async with open_client(double.key, double.url) as client, open_bench(home) as bench:
        small, price = Tariff(tokens_per_call=1_000), Price(PRICE)
        embedder = cohere_embedder(client, small, count_tokens=token_counter(), price=price)
        bench.use_case = replace(bench.use_case, embedder=embedder)
        yield bench


async def test_with_a_fifth_of_calls_failing_no_chunk_is_lost_and_each_is_billed_once(
    bench: Bench, double: CohereDouble, tmp_path: Path
) -> None:
    double.random_faults = seeded_faults(0, 0.2)
    report = await bench.ingest(make_book(tmp_path / "large", pages=60))
    assert len(double.to("embed")) > report.batches > 40
    assert report.embedded == len(double.billed) == report.chunks == 120
    assert set(double.billed.values()) == {1}
    stored = await bench.points()
    assert {one.chunk.embedding_text for one in stored} == set(double.billed)


async def test_a_refused_text_leaves_the_index(
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
    assert set(double.billed.values()) == {1}


async def test_a_dry_run_tells_what_it_costs(
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


def test_the_command_prints_cost_and_rate_limit(
    command: Run, double: CohereDouble, book: Path
) -> None:
    priced = partial(command, RAG_PRICES='{"embed-v5.0-pro": {"input_tokens": 1000}}')
    dry = priced("ingest", book, "--dry-run", "--json").json()
    assert dry["minutes"] == pytest.approx(dry["tokens"] / 100_000, abs=0.01)
    assert dry["usd"] == pytest.approx(dry["tokens"] / 1000)
    text = priced("ingest", book, "--dry-run").out
    assert "24 to be embedded" in text
    assert f"{dry['tokens']:,} tokens" in text
    assert "s at the rate limit" in text
    assert double.billed_tokens == 0
    real = priced("ingest", book)
    assert real.code == 0, real.err
    assert f"{double.billed_tokens:,} tokens billed" in real.out
    assert f"${double.billed_tokens / 1000:.4f}" in real.out
    unknown = priced("ingest", book, "--dry-run", RAG_COHERE_EMBED_MODEL="embed-v9")
    assert "price unknown" in unknown.out


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
