"""The use case that answers: events, modes, confidence, fallbacks, refusals."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from app.domain import errors
from app.domain.answer import (
    Answer,
    AnswerEvent,
    AnswerMode,
    CitationFound,
    Confidence,
    Finished,
    Started,
    TextDelta,
)
from app.domain.answering.request import AskRequest
from app.domain.chunking.chunk import Passage
from app.domain.generated_text.model_text import TextDiscarded
from app.domain.indexed_book import BookList
from app.domain.prompts import NO_ANSWER
from app.domain.retrieval.query import Turn
from app.services.answer_question import AnswerQuestion
from tests.fake_world import World, passage
from tests.serving import END, ScriptedGenerator, Step

LIGHT = passage(
    "Photosynthesis turns light energy into chemical energy. It takes place in chloroplasts.",
    "p-light",
)
LEAVES = passage("Leaves hold most of the chloroplasts of a plant.", "p-leaves")
QUESTION = "What does photosynthesis turn light energy into?"
FOREIGN = "Who won the hockey championship in Ottawa?"
SPANISH = "¿Quién ganó el campeonato en la ciudad?"
NOTICE = "The book may not say this."
DOWN = errors.ProviderUnavailable("down")
SILENT = ScriptedGenerator([], replace(END, finish_reason=NO_ANSWER))


def ask(use_case: AnswerQuestion, question: str = QUESTION) -> Answer:
    return asyncio.run(use_case.answer(AskRequest(question)))


def written(*steps: Step, book: Sequence[Passage] = (LIGHT,), question: str = QUESTION) -> Answer:
    """Answer from this book with a model that writes so."""
    return ask(World(tuple(book)).answering(ScriptedGenerator(steps)), question)


def events(use_case: AnswerQuestion, question: str = QUESTION) -> list[AnswerEvent]:
    async def collect() -> list[AnswerEvent]:
        return [event async for event in use_case.stream(AskRequest(question))]

    return asyncio.run(collect())


@pytest.mark.parametrize(
    ("generator", "question"),
    [
        (None, QUESTION),
        (ScriptedGenerator(["Plants eat light.", (12, 17, ("p-light",))]), QUESTION),
        (SILENT, QUESTION),
        (ScriptedGenerator([DOWN]), QUESTION),
        (None, FOREIGN),
    ],
    ids=["extracted", "generated", "generator refuses", "generator down", "refused"],
)
def test_events_come_in_order_and_add_up_to_the_answer(
    generator: ScriptedGenerator | None, question: str
) -> None:
    first, *between, last = events(World((LIGHT, LEAVES)).answering(generator), question)
    assert isinstance(first, Started)
    assert isinstance(last, Finished)
    assert "p-light" in {source.paragraph_id for source in first.sources}
    text = "".join(event.text for event in between if isinstance(event, TextDelta))
    cited = [event.citation for event in between if isinstance(event, CitationFound)]
    assert text == last.answer.answer
    assert sorted(cited, key=lambda one: one.start) == list(last.answer.citations)


async def test_the_books_of_the_index_are_looked_up_once_for_a_question() -> None:
    world = World((LIGHT,))
    real, asked = world.index.books, []

    async def books() -> BookList:
        asked.append("books")
        return await real()

    world.index.books = books  # type: ignore[method-assign]  # counts the calls
    answer = await world.answering().answer(AskRequest(QUESTION))
    assert (answer.mode, bool(answer.citations), asked) == (AnswerMode.EXTRACTIVE, True, ["books"])


@dataclass
class ListeningScorer:
    """Keeps what it is asked to score."""

    language: str = "en"
    """The only language of questions that it reads."""
    reads_first: int = 9
    """Paragraphs that it has the time to read."""
    heard: list[tuple[str, list[str]]] = field(default_factory=list)

    def reads(self, asked_in: str, language: str) -> bool:
        return self.language == asked_in

    async def scores(self, question: str, texts: Sequence[str]) -> list[float | None]:
        self.heard.append((question, list(texts)))
        return [0.5 if at < self.reads_first else None for at in range(len(texts))]


def scored_by(answering: AnswerQuestion, *scorers: ListeningScorer) -> AnswerQuestion:
    return replace(answering, write=replace(answering.write, scorers=scorers))


def test_paragraphs_are_scored_with_their_headings_as_far_as_there_is_time() -> None:
    answering = World((LIGHT, passage("Owls hunt at night.", "p-owls"))).answering()
    for read in (0, 1):
        scorer = ListeningScorer(reads_first=read)
        assert ask(scored_by(answering, scorer)).passages == ask(answering).passages
        ((question, (first, _)),) = scorer.heard
        assert (question, first) == (QUESTION, f"Book > Section\n{LIGHT.text}")


def test_a_multilingual_model_answers_a_question_that_shares_no_word_with_the_book() -> None:
    question = "¿Qué es lo que hacen las plantas?"
    answering = World((LIGHT,)).answering()
    scorers = ListeningScorer("fr"), ListeningScorer("es")
    (shown,) = ask(scored_by(answering, *scorers), question).passages
    assert (shown.text, shown.marks[0][0], shown.marks[-1][1]) == (LIGHT.text, 0, len(LIGHT.text))
    assert ask(answering, question).refused


async def test_question_of_its_own_is_not_judged_by_the_one_before_it() -> None:
    history = (Turn("user", "Who won the hockey championship?"), Turn("assistant", "Nobody."))
    request = AskRequest("Show the light energy that photosynthesis turns", history=history)
    assert not (await World((LIGHT,)).answering().answer(request)).refused


def test_nothing_found_is_a_refusal_without_citations() -> None:
    answer = ask(World(()).answering())
    assert (answer.refused, answer.mode, answer.citations) == (True, AnswerMode.REFUSED, ())
    assert (answer.answer, answer.sources) == ("The book does not say.", ())


@pytest.mark.parametrize(("question", "asked"), [(FOREIGN, 0), (SPANISH, 1), ("Hockey?", 1)])
def test_a_model_is_spared_only_a_foreign_question_in_the_books_language(
    question: str, asked: int
) -> None:
    generator = ScriptedGenerator([], replace(END, finish_reason=NO_ANSWER))
    answer = ask(World((LIGHT,)).answering(generator), question)
    assert len(generator.requests) == asked
    assert (answer.mode, answer.refused, answer.degraded) == (AnswerMode.REFUSED, True, ())
    assert [source.title for source in answer.sources] == ["Section"]


@pytest.mark.parametrize("question", [QUESTION, FOREIGN])
def test_degraded_retrieval_is_told_in_the_answer(question: str) -> None:
    world = World((LIGHT,), error=DOWN)
    assert ask(world.answering(), question).degraded == ("embedding",)


HARMONY = passage("Harmony joins notes into chords, as Bach did in every piece.", "p-harmony")


@pytest.mark.parametrize(
    ("question", "lacking"),
    [
        ("How does harmony join notes into chords?", ""),
        ("How does Bach join notes into chords?", ""),
        ("I'm new to this. How does harmony join notes into chords?", ""),
        ("I write PHP for my school. How does harmony join notes into chords?", ""),
        ("How does Chopin join notes into chords?", "They do not mention \u201cChopin\u201d."),
    ],
)
def test_a_name_that_no_passage_has_makes_an_answer_uncertain_and_is_told(
    question: str, lacking: str
) -> None:
    answer = ask(World((HARMONY, LIGHT)).answering(refusal_threshold=0.0), question)
    assert answer.confidence is (Confidence.UNCERTAIN if lacking else Confidence.ANSWERED)
    assert lacking in answer.answer.partition("\n\n")[0]


TOLD = "Photosynthesis turns light energy into chemical energy."
TEXT = "Plants turn light energy into chemical energy in chloroplasts."
CITE: Step = (12, 24, ("p-light",))


def test_generated_citation_is_verified_and_given_the_supporting_sentence() -> None:
    answer = written(TEXT, CITE, book=(LIGHT, LEAVES))
    assert (answer.mode, answer.answer) == (AnswerMode.GENERATED, TEXT)
    (citation,) = answer.citations
    assert TEXT[citation.start : citation.end] == "light energy"
    assert citation.quote == TOLD
    assert [one.supported for one in answer.statements] == [True]
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (3, 2)


def test_citation_is_the_same_wherever_it_comes_in_the_stream() -> None:
    pieces = [TEXT[at : at + 5] for at in range(0, len(TEXT), 5)]
    answers = [written(*pieces[:at], CITE, *pieces[at:]) for at in range(len(pieces) + 1)]
    assert len({one.citations for one in answers}) == 1


FABLE = "Owls like jazz music. Mice prefer silent films. Parrots collect old stamps."


def test_unsupported_answer_is_replaced_by_passages_before_any_of_it_is_shown() -> None:
    _, *between, last = events(World((LIGHT,)).answering(ScriptedGenerator([FABLE])))
    assert isinstance(last, Finished)
    answer, quoted = last.answer, ask(World((LIGHT,)).answering())
    assert (answer.mode, answer.degraded) == (AnswerMode.EXTRACTIVE, ("unsupported",))
    assert (answer.answer, answer.passages) == (quoted.answer, quoted.passages)
    assert answer.usage.output_tokens == 2
    assert "".join(one.text for one in between if isinstance(one, TextDelta)) == answer.answer


def test_unsupported_end_of_an_answer_is_dropped() -> None:
    answer = written(TEXT, " ", FABLE)
    assert answer.answer.startswith(f"{TEXT} Owls like jazz music.")
    assert "stamps" not in answer.answer
    assert (answer.mode, answer.degraded) == (AnswerMode.GENERATED, ("unsupported",))
    supported = [one.supported for one in answer.statements]
    assert sum(supported) >= len(supported) / 3


@pytest.mark.parametrize(
    ("steps", "question", "threshold", "mode", "confidence", "degraded"),
    [
        ([TEXT, CITE], QUESTION, 1.0, AnswerMode.GENERATED, Confidence.ANSWERED, ()),
        ([FABLE], QUESTION, 1.0, AnswerMode.EXTRACTIVE, Confidence.UNCERTAIN, ("unsupported",)),
        ([FABLE], SPANISH, 0.0, AnswerMode.REFUSED, Confidence.NOT_IN_BOOK, ("unsupported",)),
        ([DOWN], QUESTION, 1.0, AnswerMode.EXTRACTIVE, Confidence.UNCERTAIN, ("generator",)),
        ([], QUESTION, 1.0, AnswerMode.REFUSED, Confidence.NOT_IN_BOOK, ()),
        ([], QUESTION, 0.0, AnswerMode.EXTRACTIVE, Confidence.UNCERTAIN, ()),
    ],
    ids=["cited", "unsupported", "unsupported and foreign", "down", "no answer",
         "no answer where the score is high"],
)  # fmt: skip
def test_a_model_and_the_score_settle_the_answer_together(
    steps: list[Step],
    question: str,
    threshold: float,
    mode: AnswerMode,
    confidence: Confidence,
    degraded: tuple[str, ...],
) -> None:
    generator = ScriptedGenerator(steps) if steps else SILENT
    answer = ask(World((LIGHT,)).answering(generator, answer_threshold=threshold), question)
    assert (answer.mode, answer.confidence, answer.degraded) == (mode, confidence, degraded)
    assert answer.answer.startswith(NOTICE) == (confidence is Confidence.UNCERTAIN)
    assert bool(answer.passages) == (confidence is Confidence.UNCERTAIN)


OUTAGES = [
    DOWN,
    errors.ProviderRateLimited("slow down", 3.0),
    errors.ProviderRejected("too long"),
    errors.ProviderAuthError("bad key"),
]


@pytest.mark.parametrize("error", OUTAGES, ids=lambda error: error.code)
def test_outage_ends_the_answer_after_its_supported_text_and_says_so(
    error: errors.ProviderError,
) -> None:
    answer = written(f"{TOLD} It ", error)
    assert (answer.mode, answer.degraded) == (AnswerMode.GENERATED, ("generator",))
    assert answer.answer == f"{TOLD} It "
    assert [one.paragraph_id for one in answer.citations] == ["p-light"]
    for before in ([], ["Hockey is fun. "]):
        answer = written(*before, error)
        assert (answer.mode, answer.degraded) == (AnswerMode.EXTRACTIVE, ("generator",))
        assert answer.answer == ask(World((LIGHT,)).answering()).answer


@pytest.mark.parametrize("before", [[], ["Ottawa won the cup. "]], ids=["silent", "unsupported"])
def test_outage_is_never_told_as_not_in_the_book(before: list[str]) -> None:
    with pytest.raises(errors.ProviderUnavailable):
        written(*before, DOWN, question="Hockey championship?")


@pytest.mark.parametrize("text", ["   ", "\n", "![](https://evil.example/x.png)"])
def test_text_of_which_nothing_is_left_is_replaced_by_quotations(text: str) -> None:
    answer = written(text)
    assert answer.mode is AnswerMode.EXTRACTIVE
    assert answer.answer.strip() == ask(World((LIGHT,)).answering()).answer


@pytest.mark.parametrize(
    ("generator", "degraded"),
    [
        (ScriptedGenerator([TOLD], replace(END, truncated=True)), "truncated"),
        (ScriptedGenerator(["Hockey is fun."], replace(END, truncated=True)), "unsupported"),
        (ScriptedGenerator(["Photosynthesis turns light"], None), "generator"),
        (ScriptedGenerator([], None), "generator"),
        (ScriptedGenerator([""]), "generator"),
    ],
    ids=["maximum", "maximum, unsupported", "stops early", "stops at once", "writes nothing"],
)
def test_an_answer_says_how_its_model_failed(generator: ScriptedGenerator, degraded: str) -> None:
    assert ask(World((LIGHT,)).answering(generator)).degraded == (degraded,)


def test_text_that_turns_out_to_be_reasoning_is_dropped() -> None:
    thought = "Okay, the user wants to hear about hockey in Ottawa. "
    answer = written(thought, TextDiscarded(), TOLD, (0, len(TOLD) - 1, ("p-light",)))
    assert (answer.answer, answer.degraded) == (TOLD, ())
    (citation,) = answer.citations
    assert TOLD[citation.start : citation.end] == TOLD[:-1]
