"""The use case Evaluate, and reading its questions."""

import asyncio
import itertools
import json
from dataclasses import replace
from pathlib import Path

import pytest

from app.bootstrap.question_file import read_questions
from app.domain.errors import InputError
from app.domain.evaluation.gold_question import GoldSpan, Question, fingerprint
from app.domain.evaluation.measurement import summary
from app.domain.retrieval.query import Turn
from app.services.evaluate import Evaluate, Evaluation, EvaluationRequest
from tests.fake_world import World, make_chunk

CHUNKS = [
    make_chunk("Stacks are last in, first out, as plates are.", index=0),
    make_chunk("Queues are first in, first out, as in shops.", index=1),
    make_chunk("Trees have one root and any number of leaves.", file="b.md", index=0),
]


def evaluate(
    questions: list[Question], request: EvaluationRequest | None = None, context_tokens: int = 3_000
) -> Evaluation:
    """Run with a clock that ticks by 1, 2, 3... milliseconds."""
    ticks = itertools.accumulate(itertools.chain([0.0], *((0.001 * n, 0.0) for n in range(1, 99))))
    world = World(chunks=CHUNKS)
    answering = world.answering()
    consult = replace(answering.consult, context_tokens=context_tokens)
    use_case = Evaluate(replace(answering, consult=consult), world.index, lambda: next(ticks))
    return asyncio.run(use_case.run(questions, request or EvaluationRequest()))


def stack_question(filter_file: str = "") -> Question:
    gold = (GoldSpan("a.md", 0, 45),)
    question = "What are stacks and plates?"
    return Question("s", question, "factual", True, gold=gold, filter_file=filter_file)


TREE = Question("t", "What has one root?", "review", True, gold_file="b.md")
UNANSWERABLE = Question("u", "Who wrote it?", "unanswerable", answerable=False)


@pytest.mark.parametrize("asked", [[stack_question()], [TREE], [UNANSWERABLE]])
def test_the_summary_has_every_metric_whatever_was_asked(asked: list[Question]) -> None:
    found = summary(evaluate(asked, EvaluationRequest(k=8)).results)
    names = "n answerable p50_ms degraded recall@5 hit@1 hit@5 mrr ndcg@10 precision recall@8 hit@8"
    assert {*names.split(), "context_tokens"} <= found.keys()


def test_times_come_from_the_clock_in_milliseconds() -> None:
    questions = [
        Question(str(n), "stacks", "factual", True, (GoldSpan("a.md", 0, 45),)) for n in range(20)
    ]
    found = summary(evaluate(questions).results)
    assert (found["p50_ms"], found["p95_ms"]) == (10.0, 19.0)


def test_the_context_keeps_its_own_budget() -> None:
    result = evaluate([stack_question()], EvaluationRequest(k=3), context_tokens=10).results[0]
    assert 0 < result.applicable["context_tokens"] <= 10


def test_a_fingerprint_tells_question_sets_apart() -> None:
    first = [stack_question(), TREE]
    assert fingerprint(first) == fingerprint([stack_question(), TREE])
    others = [[TREE, stack_question()], [stack_question("a.md"), TREE], [TREE]]
    assert len({fingerprint(one) for one in [first, *others]}) == 4


def line(**changes: object) -> str:
    record: dict[str, object] = {
        "id": "1",
        "question": "Why?",
        "kind": "factual",
        "answerable": True,
        "gold": [{"file": "a.md", "start": 0, "end": 9}],
    }
    return json.dumps({k: v for k, v in {**record, **changes}.items() if v is not None})


def written(folder: Path, content: str | bytes) -> Path:
    path = folder / "questions.jsonl"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_every_key_is_read(tmp_path: Path) -> None:
    text = line(
        history=[{"role": "user", "content": "Hello"}],
        gold_file="b.md",
        filter_file="a.md",
        lang="es",
        answer=["x"],
    )
    assert read_questions(written(tmp_path, text + "\n\n")) == [
        Question(
            id="1",
            question="Why?",
            kind="factual",
            answerable=True,
            gold=(GoldSpan("a.md", 0, 9),),
            gold_file="b.md",
            filter_file="a.md",
            history=(Turn("user", "Hello"),),
        )
    ]


def test_a_line_separator_inside_a_question_does_not_end_the_line(tmp_path: Path) -> None:
    text = line().replace("Why?", "Why\u2028now?")
    assert read_questions(written(tmp_path, text))[0].question == "Why\u2028now?"


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("\xff", "not UTF-8"),
        ("{", "Invalid JSON"),
        ("[" * 100_000, "recursion limit"),
        ("9" * 5_000, "Invalid JSON"),
        ("[]", "should be an object"),
        (line(question=None), "question: Field required"),
        (line(id=7), "id: Input should be a valid string"),
        (line(answerable="yes"), "answerable: Input should be a valid boolean"),
        (line(gold={}), "gold: Input should be a valid array"),
        (line(gold=[3]), "gold.0: Input should be an object"),
        (line(gold=[{"file": "a.md", "start": -1, "end": 2}]), "gold: the gold span -1 to 2"),
        (line(gold=[{"file": "a.md", "start": 2, "end": 2}]), "gold span 2 to 2 is empty"),
        (line(gold=[]), "without gold and gold_file"),
        (line(key_facts=["("]), "key_facts: '(' is not a regular expression"),
        (line(key_facts=[1]), "key_facts.0: Input should be a valid string"),
        (line(gold_all="yes"), "gold_all: Input should be a valid boolean"),
        (line(book="../elsewhere"), "book id '../elsewhere'"),
        (line(id="0"), "id '0' is used twice"),
        (line(question=" "), "the question is empty"),
        (line(question="why " * 1_001), "the question is too long"),
    ],
)
def test_a_bad_line_is_one_error_with_file_and_line(tmp_path: Path, bad: str, message: str) -> None:
    path = written(tmp_path, f"{line(id='0')}\n{bad}\n".encode("latin-1"))
    with pytest.raises(InputError) as caught:
        read_questions(path)
    assert str(caught.value).startswith(f"{path}:2: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_without_questions_is_an_error(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.jsonl", written(tmp_path, "")):
        with pytest.raises(InputError, match=rf"{path.name}: "):
            read_questions(path)
