"""Exercises of the book: hints and paragraphs to read; the solution only when it is asked for."""

import asyncio

import pytest

from app.domain.answer import Answer, AnswerMode
from app.domain.answering.exercises import Solutions, asked_exercise, explaining, solutions_by_place
from app.domain.answering.request import AskRequest
from app.domain.chunking.chunk import Passage
from app.domain.document import BlockKind
from app.domain.retrieval.query import Hit
from tests.fake_world import World, chunk, passage, terms
from tests.serving import ScriptedGenerator

TASK = "Explain why photosynthesis in leaves stops at night."
LIGHT = passage("Photosynthesis in leaves needs light, which plants take in by day.", "p-light")
EXERCISE = passage(TASK, "p-task", BlockKind.EXERCISE)
NOTICE = "This is an exercise of the book. These passages help to solve it."
CHOICE = "Which gas do green plants take?"
SOLUTION = passage(
    "Photosynthesis in leaves stops at night because no photons arrive.",
    "p-solution",
    BlockKind.SOLUTION,
)


def ask(solutions: Solutions, generator: ScriptedGenerator | None = None) -> Answer:
    world = World((LIGHT, EXERCISE, SOLUTION))
    use_case = world.answering(generator, refusal_threshold=0.0)
    return asyncio.run(use_case.answer(AskRequest(TASK, solutions=solutions)))


@pytest.mark.parametrize(
    ("question", "exercise"),
    [
        (TASK, "p-task"),
        ("explain why photosynthesis in the leaves stops at night", "p-task"),
        ("What is photosynthesis?", ""),
        ("Why do leaves fall at night in autumn?", ""),
        ("Explain why.", ""),
        (CHOICE, "p-choice"),
        ("Which gas do plants take?", ""),  # it has three of its four terms
    ],
)
def test_a_question_is_an_exercise_when_it_repeats_its_words(question: str, exercise: str) -> None:
    choice = task("p-choice", text=f"{CHOICE}\n\n1. oxygen\n2. carbon dioxide\n3. argon")
    hits = [Hit(chunk((LIGHT, EXERCISE, choice)), 1.0)]
    assert asked_exercise(terms(question), hits, terms) == exercise


@pytest.mark.parametrize(
    "others",
    [
        (),
        tuple(
            passage(
                f"Explain why photosynthesis in leaf {at} stops.", f"p-{at}", BlockKind.EXERCISE
            )
            for at in range(7)
        ),
        (passage("Stones are grey.", "p-stone"), SOLUTION),
    ],
    ids=["alone", "among exercises", "among what is of no use"],
)
async def test_hidden_only_what_is_to_be_read_is_named(others: tuple[Passage, ...]) -> None:
    use_case = World((*others, EXERCISE, LIGHT)).answering(refusal_threshold=0.0)
    answer = await use_case.answer(AskRequest(TASK, solutions=Solutions.HIDE))
    assert answer.answer == NOTICE
    assert (answer.exercise, answer.refused, answer.citations) == ("p-task", False, ())
    assert [one.paragraph_id for one in answer.sources] == ["p-light"]


def test_chunks_of_exercises_make_room_for_those_that_explain() -> None:
    hits = [Hit(chunk((one,), f"c-{one.paragraph_id}"), 1.0) for one in (EXERCISE, SOLUTION, LIGHT)]
    assert [hit.chunk.paragraph_id for hit in explaining(hits)] == ["p-light"]
    assert explaining(hits[:2]) == hits[:2]


def test_a_hint_quotes_the_book_but_no_generator_solves_it() -> None:
    generator = ScriptedGenerator(["Because no photons arrive."])
    answer = ask(Solutions.HINT, generator)
    assert generator.requests == []
    assert (answer.mode, answer.exercise) == (AnswerMode.EXTRACTIVE, "p-task")
    assert answer.answer == f"{NOTICE}\n\n{LIGHT.text}"
    assert {one.paragraph_id for one in answer.citations} == {"p-light"}


async def test_a_generator_sees_solutions_only_when_they_are_to_be_shown() -> None:
    seen = []
    for solutions in (Solutions.HINT, Solutions.SHOW):
        generator = ScriptedGenerator(["Leaves need light."])
        use_case = World((LIGHT, EXERCISE, SOLUTION)).answering(generator, refusal_threshold=0.0)
        request = AskRequest("What do leaves need?", solutions=solutions)
        await use_case.answer(request)
        seen.append({one.passage.paragraph_id for one in generator.requests[0].context})
    assert seen == [{"p-light", "p-task"}, {"p-light", "p-task", "p-solution"}]


def task(paragraph_id: str, kind: BlockKind = BlockKind.EXERCISE, text: str = "x") -> Passage:
    return passage(text, paragraph_id, kind)


@pytest.mark.parametrize(
    ("document", "solved"),
    [
        ("e1 s1 e2 s2", {"e1": ("s1",), "e2": ("s2",)}),
        ("e1 text s1", {"e1": ("s1",)}),
        ("e1 e2 s1 s2", {"e1": ("s1",), "e2": ("s2",)}),
        ("e1 e2 s2", {"e2": ("s2",)}),
        ("e1 s1 s1b", {"e1": ("s1", "s1b")}),
        ("s0 e1", {}),
        ("e1 e1 s1", {"e1": ("s1",)}),
    ],
    ids=["in turn", "apart", "exercises first", "one unsolved", "long", "none", "split"],
)
def test_a_solution_belongs_to_the_exercise_it_stands_behind(
    document: str, solved: dict[str, tuple[str, ...]]
) -> None:
    kinds = {"e": BlockKind.EXERCISE, "s": BlockKind.SOLUTION, "t": BlockKind.PARAGRAPH}
    assert solutions_by_place(task(one, kinds[one[0]]) for one in document.split()) == solved


async def test_the_solution_is_found_by_its_place_and_not_by_its_words() -> None:
    terse = passage("Solution\n\nB", "p-terse", BlockKind.SOLUTION)
    other = passage(TASK, "p-other", BlockKind.SOLUTION)
    use_case = World((other, EXERCISE, terse, LIGHT)).answering()
    answer = await use_case.answer(AskRequest(TASK, solutions=Solutions.SHOW))
    assert (answer.answer, answer.exercise) == (terse.text, "p-task")
    assert [one.paragraph_id for one in answer.citations] == ["p-terse"]
