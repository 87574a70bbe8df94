"""The whole path with a provider: real SDK, HTTP double; ingest, search, rerank, cited answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cohere_double import CohereDouble, Fault
from tests.command_line import LAMPS, Run

pytestmark = pytest.mark.usefixtures("tiny")


def environment(double: CohereDouble, key: str | None = None) -> dict[str, str]:
    return {
        "CO_API_KEY": key or double.key,
        "RAG_COHERE_BASE_URL": double.url,
    }


def test_a_key_turns_ingest_and_answers_over_to_cohere(run: Run) -> None:
    with CohereDouble() as double:
        report = run("ingest", "tiny", "--json", **environment(double))
        assert report.code == 0, report.err
        assert report.json()["embedded"] > 0
        assert "embed-v5.0, 1024 dimensions" in report.err
        assert {(call.body["model"], call.body["input_type"]) for call in double.to("embed")} == {
            ("embed-v5.0-pro", "search_document")
        }
        question = "What does the Fresnel lens do?"
        answer = run("ask", question, "--json", **environment(double)).json()
        chat = double.to("chat")[-1].body
        asked = double.to("embed")[-1].body
        assert (asked["model"], asked["input_type"]) == ("embed-v5.0-fast", "search_query")
        assert double.to("rerank")[-1].body["model"] == "rerank-v5.0-fast"
    assert answer["mode"] == "generated"
    assert answer["degraded"] == []
    assert "Fresnel lens" in answer["answer"]
    (citation, *_) = answer["citations"]
    assert citation["quote"] in LAMPS["lamps.md"]
    # The double cites a sentence without its full stop; attribution would cite all of it.
    cited = answer["answer"][citation["start"] : citation["end"]]
    assert f"{cited}." in answer["answer"]
    assert citation["quote"] in str([document["data"]["text"] for document in chat["documents"]])


def test_a_refused_key_is_one_line_and_leaves_nothing(run: Run) -> None:
    with CohereDouble() as double:
        result = run("ingest", "tiny", **environment(double, key="wrong"))
        assert result.code == 2
        assert "CO_API_KEY" in result.err.splitlines()[-1]
        assert "wrong" not in result.err
        assert run("books", "--json").out == "[]\n"
        assert run("ingest", "tiny", **environment(double)).code == 0


def test_pro_and_fast_share_an_index_and_another_space_is_refused(run: Run) -> None:
    question = "What does the Fresnel lens do?"
    with CohereDouble() as double:
        run("ingest", "tiny", **environment(double))
        calls = len(double.to("embed"))
        fast = {**environment(double), "RAG_COHERE_EMBED_MODEL": "embed-v5.0-fast"}
        assert run("ingest", "tiny", "--json", **fast).json()["unchanged"]
        assert len(double.to("embed")) == calls
        assert run("ask", question, "--json", **fast).json()["degraded"] == []
        older = run("ask", question, **{**fast, "RAG_COHERE_EMBED_MODEL": "embed-v4.0"})
        assert (older.code, "indexed with embed-v5.0 (1024" in older.err) == (2, True)
        mixed = {**fast, "RAG_COHERE_EMBED_MODEL": "embed-v5.0-pro, embed-v4.0"}
        refused = run("ask", question, **mixed)
        assert (refused.code, "not comparable" in refused.err) == (2, True)


@pytest.mark.parametrize(
    ("model", "threshold", "confidence"),
    [
        ("rerank-v5.0-fast", "0.5", "answered"),
        ("rerank-v5.0-fast", "0.9", "not_in_book"),
        ("rerank-v3.5", "0.9", "uncertain"),
    ],
)
def test_only_a_calibrated_ranking_decides_what_the_book_answers(
    run: Run, model: str, threshold: str, confidence: str
) -> None:
    """Two of the three words of the question are in the book."""
    settings = {"RAG_COHERE_RERANK_MODEL": model, "RAG_RELEVANCE_THRESHOLD": threshold}
    with CohereDouble() as double:
        given = {**environment(double), **settings, "RAG_GENERATOR": "extractive"}
        run("ingest", "tiny", **given)
        answer = run("ask", "What does the Fresnel lens paint?", "--json", **given).json()
    assert (answer["confidence"], answer["degraded"]) == (confidence, [])


def test_without_the_ranking_the_offline_score_decides(run: Run) -> None:
    with CohereDouble() as double:
        given = {**environment(double), "RAG_RELEVANCE_THRESHOLD": "1"}
        run("ingest", "tiny", **given)
        double.fail(*[Fault()] * 4, endpoint="rerank")
        answer = run("ask", "What does the Fresnel lens do?", "--json", **given).json()
    assert (answer["confidence"], answer["degraded"]) == ("answered", ["rerank"])


def test_calibration_suggests_the_one_threshold_of_a_calibrated_ranking(
    run: Run, home: Path
) -> None:
    questions = asked_of(LAMPS, home)
    with CohereDouble() as double:
        run("ingest", "tiny", **environment(double))
        lines = run("eval", questions, "--calibrate", **environment(double)).out.splitlines()
        found = run("eval", questions, "--calibrate", "--json", **environment(double)).json()
    assert [line.split("=")[0] for line in lines[-2:]] == ["RAG_RELEVANCE_THRESHOLD"] * 2
    refusal = found["refusal"]
    assert (refusal["setting"], refusal["auroc"]) == ("RAG_RELEVANCE_THRESHOLD", 1)


def asked_of(book: Mapping[str, str], folder: Path) -> Path:
    """Two questions that the lamps page answers, and one that no page does."""
    text = book["lamps.md"]
    gold = [{"file": "lamps.md", "start": 0, "end": len(text)}]
    foreign = "Which chess opening did Capablanca prefer?"
    questions = [
        {"question": "What does the Fresnel lens do?", "answerable": True, "gold": gold},
        {"question": "How does the Fresnel lens bend light?", "answerable": True, "gold": gold},
        {"question": foreign, "answerable": False},
    ]
    path = folder / "questions.jsonl"
    lines = [json.dumps({"id": str(n), "kind": "f", **one}) for n, one in enumerate(questions)]
    path.write_text("\n".join(lines), "utf-8")
    return path


def test_helpfulness_is_measured_on_answers_that_the_model_writes(run: Run, home: Path) -> None:
    questions = asked_of(LAMPS, home)
    with CohereDouble() as double:
        run("ingest", "tiny", **environment(double))
        found = run("eval", questions, "--helpful", "--json", **environment(double)).json()
        (written_by,) = {call.body["model"] for call in double.to("chat")}
    assert (found["run"]["generator"], found["run"]["embedder"]) == (written_by, "embed-v5.0")
    assert [row["mode"] for row in found["questions"]] == ["generated", "generated", "refused"]
    assert found["cited_gold"] == found["unanswerable_refused"] == 1
    assert found["citation_precision"] > 0
    assert found["degraded"] == 0


def in_conversation(folder: Path) -> Path:
    """A question that only the one before it makes one about the lamps."""
    gold = [{"file": "lamps.md", "start": 0, "end": len(LAMPS["lamps.md"])}]
    history = [{"role": "user", "content": "What does the Fresnel lens do?"}]
    question = {"question": "And why?", "answerable": True, "gold": gold, "history": history}
    path = folder / "conversation.jsonl"
    path.write_text(json.dumps({"id": "1", "kind": "multi-turn", **question}), "utf-8")
    return path


def test_the_model_makes_follow_ups_stand_alone(run: Run, home: Path) -> None:
    questions = in_conversation(home)
    with CohereDouble() as double:
        run("ingest", "tiny", **environment(double))
        by_model = run("eval", questions, "--json", **environment(double)).json()
        (chat,) = double.to("chat")
        run("eval", questions, "--helpful", "--json", **environment(double))
        rewriting, *_, answering = double.to("chat")[1:]
    assert (by_model["hit@1"], by_model["run"]["generator"]) == (1, chat.body["model"])
    for request in (chat, rewriting):
        assert request.body["messages"][-1]["content"].endswith("Last question: And why?")
    assert answering.body["stream"]


def test_at_the_ceiling_answers_are_extractive_and_say_so(run: Run) -> None:
    with CohereDouble() as double:
        settings = {**environment(double), "RAG_BUDGET_DAY": "0.05"}
        assert run("ingest", "tiny", **settings).code == 0
        question = "What does the Fresnel lens do?"
        answer = run("ask", question, "--json", **settings).json()
        assert (answer["mode"], answer["degraded"]) == ("generated", [])
        calls = len(double.requests)
        settings["RAG_BUDGET_DAY"] = "0.000001"
        spent = run("ask", question, "--json", **settings)
        assert len(double.requests) == calls
        assert (spent.json()["mode"], spent.json()["degraded"]) == ("extractive", ["budget"])
        assert "Fresnel lens" in spent.json()["answer"]
        foreign = run("ask", "Which chess opening did Capablanca prefer?", "--json", **settings)
        assert (foreign.code, foreign.json()["mode"]) == (0, "refused")


def test_a_spent_budget_ends_an_ingest_with_one_line(run: Run) -> None:
    with CohereDouble() as double:
        stopped = run("ingest", "tiny", **environment(double), RAG_BUDGET_MONTH="0")
        assert (stopped.code, double.requests) == (1, [])
        assert "RAG_BUDGET_MONTH" in stopped.err.splitlines()[-1]


def test_a_budget_needs_prices(run: Run) -> None:
    with CohereDouble() as double:
        settings = {
            **environment(double),
            "RAG_COHERE_CHAT_MODEL": "command-z",
            "RAG_BUDGET_DAY": "1",
        }
        refused = run("ask", "Why?", **settings)
        assert (refused.code, "RAG_PRICES" in refused.err) == (2, True)
        settings["RAG_PRICES"] = '{"command-z": {"input_tokens": 1, "output_tokens": 2}}'
        assert run("ingest", "tiny", **settings).code == 0
