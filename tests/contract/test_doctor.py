"""What is used without a setting: a model server of this machine; and what `doctor` says of it."""

import asyncio
import logging
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from app.bootstrap import home_server
from app.bootstrap.application import application
from app.settings import Settings
from tests.cohere_double import CohereDouble
from tests.command_line import Run
from tests.ingesting import WORDS
from tests.openai_double import OpenAIDouble, quote_sources
from tests.tiny_models import EMBEDDER, RERANKER, write_embedder, write_reranker

QUESTION = "What does the Fresnel lens do?"
PARTS = ["embedder", "reranker", "generator", "index"]


@pytest.fixture
def double() -> Iterator[OpenAIDouble]:
    with OpenAIDouble(answering=quote_sources) as served:
        yield served


@pytest.fixture
def on_ports(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def listen(*ports: int) -> None:
        monkeypatch.setattr(home_server, "PORTS", ports)

    return listen


def port_of(double: OpenAIDouble) -> int:
    return int(double.url.removesuffix("/v1").rpartition(":")[2])


def test_a_model_server_of_this_machine_writes_the_answers(
    run: Run, tiny: Path, double: OpenAIDouble, on_ports: Callable[..., None]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        closed = silent.getsockname()[1]
    on_ports(closed, port_of(double))
    run("ingest", tiny)
    settings = {"RAG_BUDGET_DAY": "1"}  # it costs nothing, so it needs no price
    answer = run("ask", QUESTION, "--json", **settings).json()
    assert (answer["mode"], answer["degraded"]) == ("generated", [])
    assert double.requests[-1]["model"] == "llama"
    off = run("ask", QUESTION, "--json", RAG_GENERATOR="extractive").json()
    assert off["mode"] == "extractive"
    found = run("doctor", "--json").json()["generator"]
    assert found["used"].startswith("llama")
    assert "RAG_GENERATOR=extractive" in found["why"]


def test_a_found_model_is_said_once_at_start_with_how_to_turn_it_off(
    home: Path,
    double: OpenAIDouble,
    on_ports: Callable[..., None],
    caplog: pytest.LogCaptureFixture,
) -> None:
    on_ports(port_of(double))
    settings = Settings(_env_file=None, home=home, cohere_api_key=None, generator="auto")

    async def start() -> None:
        async with application(settings) as app:
            assert app.answer.model == "llama"

    with caplog.at_level(logging.INFO, "app"):
        asyncio.run(start())
    (said,) = [one.__dict__ for one in caplog.records if "generator.found" in one.message]
    assert (said["model"], said["off"]) == ("llama", "RAG_GENERATOR=extractive")


@pytest.mark.parametrize(
    ("models", "used"),
    [
        ([{"id": "nomic-embed-text"}, {"id": "qwen3"}, {"id": "llama3.1"}], "llama3.1"),
        ([{"id": "nomic-embed-text"}, {"id": "qwen3"}], "qwen3"),
        ([{"id": "nomic-embed-text"}], "extractive"),
        ([{"id": "my-book", "owned_by": "textbook-rag"}], "extractive"),
        ([], "extractive"),
        (["llama"], "extractive"),
    ],
)
def test_a_server_is_used_if_it_has_a_model_that_writes(
    run: Run,
    double: OpenAIDouble,
    on_ports: Callable[..., None],
    models: Sequence[Mapping[str, str]],
    used: str,
) -> None:
    on_ports(port_of(double))
    double.models = models
    assert run("doctor", "--json").json()["generator"]["used"].startswith(used)


def test_doctor_says_what_is_used_and_why_on_one_screen(run: Run, tiny: Path) -> None:
    result = run("doctor")
    assert result.code == 0
    lines = result.out.splitlines()
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == PARTS
    assert len(lines) <= 24
    found = run("doctor", "--json").json()
    assert [one["better"] != "" for one in found.values()] == [True] * 4
    assert "textbook-rag ingest" in found["index"]["better"]
    run("ingest", tiny)
    assert run("doctor", "--json").json()["index"]["better"] == ""


def test_cohere_goes_before_a_model_server_and_doctor_names_books_of_another_model(
    run: Run, tiny: Path, double: OpenAIDouble, on_ports: Callable[..., None]
) -> None:
    on_ports(port_of(double))
    run("ingest", tiny)
    with CohereDouble() as cohere:
        found = run("doctor", "--json", CO_API_KEY="key", RAG_COHERE_BASE_URL=cohere.url).json()
        assert cohere.requests == []
    used = [one["used"].split(",")[0] for one in found.values()]
    assert used[:3] == ["embed-v5.0", "rerank-v5.0-fast", "command-a-plus-05-2026"]
    assert [one["better"] == "" for one in found.values()] == [True, True, True, False]
    assert "tiny" in found["index"]["better"]


def test_doctor_says_what_cannot_be_used(run: Run) -> None:
    broken = {"RAG_EMBEDDER": "fastembed:owl", "RAG_RERANKER": "fastembed"}
    result = run("doctor", "--json", **broken, RAG_GENERATOR="openai", RAG_OPENAI_BASE_URL=NOWHERE)
    assert result.code == 0
    found = result.json()
    assert (found["embedder"]["used"], found["reranker"]["used"]) == ("", "")
    assert "owl" in found["embedder"]["why"]
    assert "scripts/setup local" in found["reranker"]["why"]
    assert "check the network and RAG_OPENAI_BASE_URL" in found["generator"]["why"]
    assert run("doctor", "--json", RAG_EMBEDDER="cohere").json()["embedder"]["used"] == ""


NOWHERE = "http://127.0.0.1:9/v1"


def test_local_models_search_and_choose_paragraphs(run: Run, tiny: Path, tmp_path: Path) -> None:
    models = tmp_path / "models"
    terms = [*WORDS, "fresnel", "lens", "light", "lamp"]
    write_embedder(models, terms)
    write_reranker(models, terms)
    own = {
        "RAG_EMBEDDER": f"fastembed:{EMBEDDER}",
        "RAG_RERANKER": f"fastembed:{RERANKER}",
        "RAG_MODELS": str(models),
    }
    assert run("ingest", tiny, **own).code == 0
    hits = run("search", QUESTION, "--json", **own).json()["hits"]
    assert "Fresnel" in hits[0]["text"]
    assert hits[0]["score"] == pytest.approx(0.731, abs=1e-3)  # two words in common
    answer = run("ask", QUESTION, "--json", **own).json()
    assert (answer["confidence"], answer["degraded"]) == ("answered", [])
    assert "Fresnel" in answer["passages"][0]["text"]
    used = [one["used"] for one in run("doctor", "--json", **own).json().values()]
    assert used[:2] == [f"fastembed:{EMBEDDER}, 384 dimensions", f"fastembed:{RERANKER}"]


def test_the_models_that_the_settings_name_are_downloaded(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: list[str] = []
    monkeypatch.setattr("app.bootstrap.doctor.download", lambda name, *_: names.append(name))
    assert run("doctor", "--download").code == 0
    run("doctor", "--download", RAG_RERANKER="fastembed:BAAI/bge-reranker-base")
    assert names == ["BAAI/bge-small-en-v1.5", RERANKER, "BAAI/bge-reranker-base"]
