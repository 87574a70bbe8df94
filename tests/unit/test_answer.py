"""The use case that answers: events, modes, fallbacks, refusals."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

import pytest

from app.domain.answer import (
    Answer,
    AnswerEvent,
    AnswerMode,
    CitationFound,
    Finished,
    Started,
    TextDelta,
)
from app.domain.answering.request import AskRequest
from app.domain.chunking.chunk import Passage
from app.domain.errors import (
    ProviderAuthError,
    ProviderError,
    ProviderRateLimited,
    ProviderRejected,
    ProviderUnavailable,
)
from app.domain.generated_text.events import TextDiscarded
from app.domain.indexed_book import BookList
from app.domain.prompts import NO_ANSWER
from app.domain.retrieval.query import Turn
from app.services.answer_question import AnswerQuestion
from app.services.write_answer import WriteAnswer
from tests.answer_fakes import FakeGenerator, Step, World, passage

LIGHT = passage(
    "Photosynthesis turns light energy into chemical energy. It takes place in chloroplasts.",
    "p-light",
)
LEAVES = passage("Leaves hold most of the chloroplasts of a plant.", "p-leaves")
QUESTION = "What does photosynthesis turn light energy into?"
FOREIGN = "Who won the hockey championship in Ottawa?"


def ask(use_case: AnswerQuestion, question: str = QUESTION) -> Answer:
    return asyncio.run(use_case.answer(AskRequest(question)))


def written(*steps: Step, book: Sequence[Passage] = (LIGHT,), question: str = QUESTION) -> Answer:
    """Answer from this book with a model that writes so."""
    return ask(World(tuple(book)).answering(FakeGenerator(steps)), question)


def events(use_case: AnswerQuestion, question: str = QUESTION) -> list[AnswerEvent]:
    async def collect() -> list[AnswerEvent]:
        return [event async for event in use_case.stream(AskRequest(question))]

    return asyncio.run(collect())


@pytest.mark.parametrize(
    ("generator", "question"),
    [
        (None, QUESTION),
        (FakeGenerator(["Plants eat light.", (12, 17, ("p-light",))]), QUESTION),
        (FakeGenerator([], finish_reason=NO_ANSWER), QUESTION),
        (FakeGenerator([ProviderUnavailable("down")]), QUESTION),
        (None, FOREIGN),
    ],
    ids=["extracted", "generated", "generator refuses", "generator down", "refused"],
)
def test_events_come_in_order_and_add_up_to_the_answer(
    generator: FakeGenerator | None, question: str
) -> None:
    first, *between, last = events(World((LIGHT, LEAVES)).answering(generator), question)
    assert isinstance(first, Started)
    assert isinstance(last, Finished)
    assert all(isinstance(event, TextDelta | CitationFound) for event in between)
    assert "p-light" in {source.paragraph_id for source in first.sources}
    text = "".join(event.text for event in between if isinstance(event, TextDelta))
    assert text == last.answer.answer
    cited = [event.citation for event in between if isinstance(event, CitationFound)]
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


async def test_follow_up_is_searched_together_with_the_question_before_it() -> None:
    world = World((LIGHT, LEAVES))
    history = (Turn("user", "What is photosynthesis?"), Turn("assistant", "A process."))
    request = AskRequest("And in chloroplasts?", history=history)
    answer = await world.answering().answer(request)
    (asked, *_) = world.retriever.texts
    assert asked.question == "What is photosynthesis?\nAnd in chloroplasts?"
    assert "It takes place in chloroplasts." in answer.answer


@dataclass
class ListeningScorer:
    """Keeps what it is asked to score."""

    heard: list[tuple[str, list[tuple[str, str]]]] = field(default_factory=list)
    language: str = "en"
    """The only language of questions that it reads."""
    reads_first: int = 9
    """Paragraphs that it has the time to read."""

    def reads(self, asked_in: str, language: str) -> bool:
        return self.language == asked_in

    async def scores(
        self, question: str, paragraphs: Sequence[tuple[str, str]]
    ) -> list[float | None]:
        self.heard.append((question, list(paragraphs)))
        read = self.reads_first
        return [0.5 if at < read else None for at in range(len(paragraphs))]


def reading_paragraphs(answering: AnswerQuestion, *scorers: ListeningScorer) -> AnswerQuestion:
    extract = replace(answering.write.extract, paragraphs=scorers)
    return replace(answering, write=WriteAnswer(extract))


def test_paragraphs_are_scored_with_their_headings_by_a_model_that_reads_them() -> None:
    scorer = ListeningScorer()
    answering = World((LIGHT,)).answering()
    assert ask(reading_paragraphs(answering, scorer)).passages
    assert scorer.heard == [(QUESTION, [("Book > Section", LIGHT.text)])]


def test_paragraphs_that_the_model_had_no_time_to_read_are_scored_without_it() -> None:
    answering = World((LIGHT, passage("Owls hunt at night.", "p-owls"))).answering()
    without = ask(answering)
    for read in (0, 1):
        reading = reading_paragraphs(answering, ListeningScorer(reads_first=read))
        assert ask(reading).passages == without.passages


def test_a_multilingual_model_answers_a_question_that_shares_no_word_with_the_book() -> None:
    scorer = ListeningScorer(language="es")
    answering = World((LIGHT,)).answering()
    reading = reading_paragraphs(answering, ListeningScorer(language="fr"), scorer)
    answer = ask(reading, "¿Qué es lo que hacen las plantas?")
    (shown,) = answer.passages
    assert shown.text == LIGHT.text
    assert (shown.marks[0][0], shown.marks[-1][1]) == (0, len(LIGHT.text))
    without = ask(answering, "¿Qué es lo que hacen las plantas?")
    assert without.refused


async def test_question_of_its_own_is_not_judged_by_the_one_before_it() -> None:
    history = (Turn("user", "Who won the hockey championship?"), Turn("assistant", "Nobody."))
    request = AskRequest("Show the light energy that photosynthesis turns", history=history)
    assert not (await World((LIGHT,)).answering().answer(request)).refused


def test_nothing_found_is_a_refusal_without_citations() -> None:
    answer = ask(World(()).answering())
    assert (answer.refused, answer.mode, answer.citations) == (True, AnswerMode.REFUSED, ())
    assert (answer.answer, answer.sources) == ("The book does not say.", ())


def test_generator_is_spared_a_foreign_question() -> None:
    generator = FakeGenerator(["Ottawa."])
    assert ask(World((LIGHT,)).answering(generator), FOREIGN).refused
    assert generator.contexts == []


@pytest.mark.parametrize("question", ["¿Quién ganó el campeonato en la ciudad?", "Hockey?"])
def test_generator_decides_on_a_question_in_another_language_or_none_that_can_be_told(
    question: str,
) -> None:
    generator = FakeGenerator([], finish_reason=NO_ANSWER)
    answer = ask(World((LIGHT,)).answering(generator), question)
    assert len(generator.contexts) == 1
    assert (answer.mode, answer.refused, answer.degraded) == (AnswerMode.REFUSED, True, ())
    assert [source.title for source in answer.sources] == ["Section"]


@pytest.mark.parametrize("question", [QUESTION, FOREIGN])
def test_degraded_retrieval_is_told_in_the_answer(question: str) -> None:
    world = World((LIGHT,), error=ProviderUnavailable("down"))
    assert ask(world.answering(), question).degraded == ("embedding",)


TOLD = "Photosynthesis turns light energy into chemical energy."
SAID = "It turns light energy into chemical energy."
TEXT = "Plants turn light energy into chemical energy in chloroplasts."


def test_generated_citation_is_verified_and_given_the_supporting_sentence() -> None:
    answer = written(TEXT, (12, 24, ("p-light",)), book=(LIGHT, LEAVES))
    assert (answer.mode, answer.answer) == (AnswerMode.GENERATED, TEXT)
    (citation,) = answer.citations
    assert TEXT[citation.start : citation.end] == "light energy"
    assert citation.quote == TOLD
    assert (answer.citation_precision, answer.coverage) == (1.0, 1.0)
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (10, 5)


def test_citation_is_the_same_wherever_it_comes_in_the_stream() -> None:
    cite = (12, 24, ("p-light",))
    pieces = [TEXT[at : at + 5] for at in range(0, len(TEXT), 5)]
    answers = [written(*pieces[:at], cite, *pieces[at:]) for at in range(len(pieces) + 1)]
    assert len({one.citations for one in answers}) == 1


def test_sentence_without_a_citation_is_attributed_to_the_paragraph_that_supports_it() -> None:
    answer = written(f"{SAID} Owls like jazz music.", book=(LIGHT, LEAVES))
    assert answer.mode is AnswerMode.GENERATED
    assert [one.supported for one in answer.statements] == [True, False]
    (citation,) = answer.citations
    assert (citation.paragraph_id, answer.answer[: citation.end]) == ("p-light", SAID)
    assert answer.citation_precision == 1.0


FABLE = "Owls like jazz music. Mice prefer silent films. Parrots collect old stamps."


def test_unsupported_answer_is_replaced_by_passages_before_any_of_it_is_shown() -> None:
    first, *between, last = events(World((LIGHT,)).answering(FakeGenerator([FABLE])))
    assert isinstance(first, Started)
    assert isinstance(last, Finished)
    answer, quoted = last.answer, ask(World((LIGHT,)).answering())
    assert (answer.mode, answer.degraded) == (AnswerMode.EXTRACTIVE, ("unsupported",))
    assert (answer.answer, answer.passages) == (quoted.answer, quoted.passages)
    assert answer.usage.output_tokens == 5
    assert "".join(one.text for one in between if isinstance(one, TextDelta)) == answer.answer


def test_unsupported_answer_to_a_question_the_book_does_not_touch_is_a_refusal() -> None:
    """Without a model this question would be refused; a model may read it all the same."""
    answer = written(FABLE, question="¿Quién ganó el campeonato en la ciudad?")
    assert (answer.mode, answer.citations) == (AnswerMode.REFUSED, ())


def test_unsupported_end_of_an_answer_is_dropped() -> None:
    answer = written(TEXT, " ", FABLE)
    assert answer.answer.startswith(f"{TEXT} Owls like jazz music.")
    assert "stamps" not in answer.answer
    assert (answer.mode, answer.degraded) == (AnswerMode.GENERATED, ("unsupported",))
    assert answer.coverage >= 1 / 3


def test_foreign_address_is_taken_out_and_citations_behind_it_still_fit() -> None:
    text = f"See https://evil.example/x?{'a' * 9} now. {TEXT}"
    at = text.index("light energy")
    answer = written(text[:9], text[9:30], text[30:], (at, at + 12, ("p-light",)))
    assert answer.answer == f"See (link removed) now. {TEXT}"
    (citation,) = answer.citations
    assert answer.answer[citation.start : citation.end] == "light energy"


OUTAGES = [
    ProviderUnavailable("down"),
    ProviderRateLimited("slow down", 3.0),
    ProviderRejected("too long"),
    ProviderAuthError("bad key"),
]


@pytest.mark.parametrize("error", OUTAGES, ids=lambda error: error.code)
@pytest.mark.parametrize("before", [[], ["Hockey is fun. "]], ids=["silent", "unsupported"])
def test_outage_before_a_supported_sentence_gives_the_extractive_answer_and_says_so(
    error: ProviderError, before: list[Step]
) -> None:
    answer = written(*before, error)
    assert (answer.mode, answer.degraded) == (AnswerMode.EXTRACTIVE, ("generator",))
    assert answer.answer == ask(World((LIGHT,)).answering()).answer


@pytest.mark.parametrize("error", OUTAGES, ids=lambda error: error.code)
def test_outage_after_the_first_text_ends_the_answer_there_and_says_so(
    error: ProviderError,
) -> None:
    answer = written(f"{TOLD} It ", error)
    assert (answer.mode, answer.degraded) == (AnswerMode.GENERATED, ("generator",))
    assert answer.answer == f"{TOLD} It "
    assert [one.paragraph_id for one in answer.citations] == ["p-light"]


@pytest.mark.parametrize("before", [[], ["Ottawa won the cup. "]], ids=["silent", "unsupported"])
def test_outage_is_never_told_as_not_in_the_book(before: list[str]) -> None:
    with pytest.raises(ProviderUnavailable):
        written(*before, ProviderUnavailable("down"), question="Hockey championship?")


@pytest.mark.parametrize("text", ["   ", "\n", "![](https://evil.example/x.png)"])
def test_text_of_which_nothing_is_left_is_replaced_by_quotations(text: str) -> None:
    answer = written(text)
    assert answer.mode is AnswerMode.EXTRACTIVE
    assert answer.answer.strip() == ask(World((LIGHT,)).answering()).answer


def test_an_answer_that_reached_its_maximum_says_so() -> None:
    for text, degraded in ((TOLD, "truncated"), ("Hockey is fun.", "unsupported")):
        cut = FakeGenerator([text], truncated=True)
        assert ask(World((LIGHT,)).answering(cut)).degraded == (degraded,)


def test_text_that_turns_out_to_be_reasoning_is_dropped() -> None:
    thought = "Okay, the user wants to hear about hockey in Ottawa. "
    cited = (0, len(TOLD) - 1, ("p-light",))
    answer = written(thought, TextDiscarded(), TOLD, cited)
    assert (answer.answer, answer.degraded) == (TOLD, ())
    (citation,) = answer.citations
    assert TOLD[citation.start : citation.end] == TOLD[:-1]


def test_a_refused_key_is_an_error_of_the_log_too(caplog: pytest.LogCaptureFixture) -> None:
    written(ProviderAuthError("set CO_API_KEY"))
    (record,) = [one for one in caplog.records if one.levelno > logging.INFO]
    assert (record.levelname, record.__dict__["reason"]) == ("ERROR", "set CO_API_KEY")


async def test_reader_who_leaves_stops_the_generator_at_once() -> None:
    generator = FakeGenerator(["Plants ", "turn ", "light."])

    async def leave() -> None:
        request = AskRequest(QUESTION)
        async with aclosing(World((LIGHT,)).answering(generator).stream(request)) as stream:
            async for event in stream:
                if isinstance(event, TextDelta):
                    return

    await leave()
    assert generator.closed


@pytest.mark.parametrize(
    ("steps", "ends"), [(["Photosynthesis turns light"], False), ([], False), ([""], True)]
)
def test_a_generator_that_stops_early_or_writes_nothing_is_an_outage(
    steps: list[Step], *, ends: bool
) -> None:
    generator = FakeGenerator(steps, ends=ends)
    assert ask(World((LIGHT,)).answering(generator)).degraded == ("generator",)
