"""Writes the answer from the context: a model's text, or quotations from the book, or a refusal."""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from app.domain.answer import (
    TRUNCATED,
    Answer,
    AnswerEvent,
    AnswerMode,
    CitationFound,
    Confidence,
    Finished,
    Source,
    Started,
    Statement,
    TextDelta,
    Usage,
)
from app.domain.answering.answerability import SIMILAR_WORDS_THRESHOLD
from app.domain.answering.chapters import with_sides
from app.domain.answering.citations import CitationList
from app.domain.answering.cited_answer import CitedAnswerBuilder
from app.domain.answering.exercises import Solutions
from app.domain.answering.extractive import ExtractiveAnswer, answer_of, best_passages
from app.domain.answering.passages import word_limit
from app.domain.answering.relevance import Relevance, candidates
from app.domain.answering.units import SplitSentences
from app.domain.answering.verification import Verifier, by_paragraph
from app.domain.errors import BudgetSpent, ProviderError, ProviderUnavailable
from app.domain.generated_text.model_text import GeneratedEnd
from app.domain.languages import notices, other_language
from app.domain.prompts import NO_ANSWER
from app.domain.retrieval.query import ContextPassage, Hit
from app.domain.terms import words
from app.services.consultation import Consultation
from app.services.ports import GenerationRequest, Generator, RelevanceModel
from app.services.recording import degraded_by, failed_step, stage
from app.services.similarity import SimilarityEncoder

NEAREST_SECTIONS = 3
"""Number of sections listed in a refusal."""


@dataclass(frozen=True, slots=True)
class WriteAnswer:
    """The use case."""

    split_sentences: SplitSentences
    similarity: SimilarityEncoder
    scorers: Sequence[RelevanceModel] = ()
    """The first one that reads the languages scores the paragraphs of an extractive answer."""
    model: Generator | None = None
    """Writes the answers; without one, they are extractive."""

    def events(self, found: Consultation | Answer) -> AsyncGenerator[AnswerEvent, None]:
        """Yield the events of the answer. Raises ProviderError."""
        if isinstance(found, Consultation) and self.model and _may_be_generated(found):
            return self._generated(self.model, found)
        return self._extractive(found)

    async def _extractive(self, found: Consultation | Answer) -> AsyncGenerator[AnswerEvent, None]:
        """Tell an answer that is made already, or made of quotations."""
        if isinstance(found, Consultation):
            with stage("generation"):
                found = _planned(await self._quotations(found), found)
        yield Started(found.mode, found.sources, found.confidence)
        for event in _told(found):
            yield event

    async def _quotations(self, read: Consultation) -> ExtractiveAnswer:
        """Return the best passages of the context; no claims if none matches the question."""
        if read.prepared or not read.context:
            return read.prepared or ExtractiveAnswer("", ())
        analysis, context = read.analysis, read.context
        language = analysis.language
        languages = analysis.asked_in, language
        scorer = next((one for one in self.scorers if one.reads(*languages)), None)
        translated = scorer is not None and analysis.asked_in != language
        if analysis.by_similar_words and not translated and read.score < SIMILAR_WORDS_THRESHOLD:
            return ExtractiveAnswer("", ())
        paragraphs = candidates(analysis, context, self.split_sentences)
        compared = [one.compared(unit) for one in paragraphs for unit in one.units]
        cosines = await self.similarity.similarities(analysis.vector, compared, language)
        scores = await _scored(read, scorer) if scorer else {}
        relevance = Relevance(analysis, cosines, scores, translated)
        limit = word_limit(len(analysis.weights))
        best = best_passages(relevance.scored(paragraphs), limit, analysis.read)
        return answer_of(with_sides(best, read.sides))

    async def _generated(
        self, model: Generator, read: Consultation
    ) -> AsyncGenerator[AnswerEvent, None]:
        """Verify the model's text as it comes; text that the book does not support is not shown.

        If nothing of it can be shown, quotations or a refusal replace it.
        """
        # A model takes seconds to its first token, so the sources are sent before.
        yield Started(AnswerMode.GENERATED, _sources(read.context), read.confidence)
        builder = CitedAnswerBuilder(_verifier(read, self.split_sentences))
        end: GeneratedEnd | ProviderError
        try:
            async with aclosing(model.generate(_generation(read))) as events:
                while True:
                    with stage("generation"):
                        event = await anext(events, None)
                    if event is None or isinstance(event, GeneratedEnd):
                        break
                    with stage("verification"):
                        shown = builder.take(event)
                    for one in shown:
                        yield one
                    await asyncio.sleep(0)
            end = event or ProviderUnavailable("the model stopped before the end of its answer")
        except ProviderError as error:
            end = error
        with stage("verification"):
            rest: Sequence[AnswerEvent] = builder.close()
        for last in (*rest, *await self._ending(read, builder, end)):
            yield last

    async def _ending(
        self, read: Consultation, builder: CitedAnswerBuilder, end: GeneratedEnd | ProviderError
    ) -> Sequence[AnswerEvent]:
        """Return the last events of a model's answer."""
        refused = isinstance(end, GeneratedEnd) and end.finish_reason == NO_ANSWER
        if isinstance(end, GeneratedEnd) and builder.empty and not refused:
            end = ProviderUnavailable("the model wrote nothing")
        usage = end.usage if isinstance(end, GeneratedEnd) else Usage()
        if builder.text.strip():
            return [Finished(_written(_degraded(read, builder, end), builder, usage))]
        low = read.scored is Confidence.NOT_IN_BOOK and not read.exercise
        outage = isinstance(end, ProviderError) and not isinstance(end, BudgetSpent) and end
        if outage and low:
            raise outage  # never reported as "not in the book"
        if refused or builder.recited:
            low = builder.recited or read.scored is not Confidence.ANSWERED
            read = replace(read, confidence=Confidence.UNCERTAIN)
        else:
            read = _degraded(read, builder, end)
        instead = ExtractiveAnswer("", ()) if low else await self._quotations(read)
        if outage and not instead.claims:
            raise outage
        answer = _quoted(instead, read) if instead.claims else _refusal(read, model=True)
        return [*_told(replace(answer, usage=usage))]


def _may_be_generated(read: Consultation) -> bool:
    """Whether a model may write the answer: not of an exercise whose solution stays hidden."""
    solves = read.exercise and read.request.solutions is not Solutions.SHOW
    return bool(read.context) and not (read.verbatim or solves)


def _generation(read: Consultation) -> GenerationRequest:
    question, selection = read.request.question, read.request.selection
    asked = selection.question_text(question) if selection else question
    return GenerationRequest(asked, read.request.history, read.context)


async def _scored(read: Consultation, scorer: RelevanceModel) -> dict[int, float]:
    """Return position -> relevance of the paragraphs that the scorer has read.

    It reads those of the best hits first.
    """
    context = read.context
    order = sorted(range(len(context)), key=lambda at: -context[at].score)
    texts = [context[at].passage.headed_text for at in order]
    scores = await scorer.scores(read.compared, texts)
    return {at: score for at, score in zip(order, scores, strict=True) if score is not None}


def _verifier(read: Consultation, split_sentences: SplitSentences) -> Verifier:
    analysis, language = read.analysis, read.analysis.language
    selected = words(read.request.selection.text if read.request.selection else "")
    return Verifier(
        by_paragraph(read.context),
        analysis.terms,
        split_sentences,
        analysis.words.union(selected),
        language,
        translated=analysis.asked_in != language,
    )


def _degraded(
    read: Consultation, builder: CitedAnswerBuilder, end: GeneratedEnd | ProviderError
) -> Consultation:
    """Return `read` with what was wrong with the model's text, if anything, in `degraded`."""
    if isinstance(end, ProviderError):
        step = degraded_by("generator", end)
    elif builder.unsupported or not builder.text.strip():
        step = "unsupported"
        failed_step(step, step, "the book supports too little of the text")
    elif end.truncated:
        step = TRUNCATED
    else:
        return read
    degraded = tuple(dict.fromkeys((*read.found.degraded, step)))
    return replace(read, found=replace(read.found, degraded=degraded))


def _answer(read: Consultation, mode: AnswerMode, text: str) -> Answer:
    """Return the answer without its citations."""
    return Answer(
        answer=text,
        mode=mode,
        confidence=read.confidence,
        sources=_sources(read.context),
        degraded=read.found.degraded,
        exercise=read.exercise,
    )


def _written(read: Consultation, builder: CitedAnswerBuilder, usage: Usage) -> Answer:
    """Return the model's answer; its citations are stronger evidence than the score."""
    return replace(
        _answer(read, AnswerMode.GENERATED, builder.text),
        confidence=Confidence.ANSWERED if builder.citations else read.confidence,
        citations=builder.citations,
        statements=builder.statements,
        usage=usage,
    )


def _planned(found: ExtractiveAnswer, read: Consultation) -> Answer:
    """Return an extractive answer, a list of what to read before an exercise, or a refusal."""
    if not found.claims:
        return _refusal(read)
    if not read.exercise or read.request.solutions is not Solutions.HIDE:
        return _quoted(found, read)
    ids = [one for passage in found.passages for one in passage.paragraph_ids]
    by_id = {one.paragraph_id: one for one in _sources(read.context)}
    first = tuple(by_id[one] for one in dict.fromkeys(ids))
    text = notices(read.analysis.asked_in).hint
    return replace(_answer(read, AnswerMode.EXTRACTIVE, text), sources=first)


def _quoted(found: ExtractiveAnswer, read: Consultation) -> Answer:
    """Return the quotations, each with its citation.

    Link policy and prompt guard do not apply to the book's own words.
    """
    notice = _notice(read)
    cited = CitationList(by_paragraph(read.context))
    statements = []
    for (start, end), unit in found.claims:
        span = start + len(notice), end + len(notice)
        statements.append(Statement(*span, supported=True))
        cited.add(span, unit)
    return replace(
        _answer(read, AnswerMode.EXTRACTIVE, notice + found.text),
        citations=cited.citations,
        statements=tuple(statements),
        passages=found.passages,
    )


def _notice(read: Consultation) -> str:
    """Return the notice above the quotations of a hint or an uncertain answer; else ""."""
    analysis = read.analysis
    if read.exercise and read.request.solutions is Solutions.HINT:
        return notices(analysis.asked_in).hint + "\n\n"
    if read.confidence is not Confidence.UNCERTAIN:
        return ""
    hint = other_language(analysis.asked_in, analysis.language)
    notice = notices(analysis.asked_in).uncertain
    # Words are only looked for in English: see `AnalyseQuestion`.
    named = ", ".join(f"\u201c{word}\u201d" for word in read.unmentioned)
    lacks = f"They do not mention {named}." if named else ""
    return " ".join(filter(None, (notice, lacks, hint))) + "\n\n"


def _refusal(read: Consultation, *, model: bool = False) -> Answer:
    """Return a refusal; `model` if one replied that the book does not answer."""
    sections = _nearest_sections(read.found.hits)
    asked_in = read.analysis.asked_in
    hint = "" if model else other_language(asked_in, read.analysis.language)
    text = f"{notices(asked_in).refused(len(sections))} {hint}".rstrip()
    refused = replace(read, confidence=Confidence.NOT_IN_BOOK)
    return replace(_answer(refused, AnswerMode.REFUSED, text), sources=sections)


def _told(answer: Answer) -> Iterator[AnswerEvent]:
    """Yield the text up to the end of each citation, then the citation; then the answer."""
    at = 0
    for citation in answer.citations:
        if citation.end > at:
            yield TextDelta(answer.answer[at : citation.end])
        at = max(at, citation.end)
        yield CitationFound(citation)
    if at < len(answer.answer):
        yield TextDelta(answer.answer[at:])
    yield Finished(answer)


def _sources(context: Sequence[ContextPassage]) -> tuple[Source, ...]:
    """Return the paragraphs of the context, each once, best first."""
    found: dict[str, Source] = {}
    for one in sorted(context, key=lambda one: -one.score):
        passage = one.passage
        source = Source(
            passage.paragraph_id, passage.url, one.section, passage.heading_path, one.score
        )
        found.setdefault(passage.paragraph_id, source)
    return tuple(found.values())


def _nearest_sections(hits: Sequence[Hit]) -> tuple[Source, ...]:
    """Return the sections of the best hits, best first."""
    found = {(hit.chunk.file, hit.chunk.heading_path): hit for hit in reversed(hits)}
    best = sorted(found.values(), key=hits.index)[:NEAREST_SECTIONS]
    return tuple(
        Source(
            hit.chunk.paragraph_id,
            hit.chunk.deep_link_url,
            hit.chunk.section,
            hit.chunk.heading_path,
            hit.score,
        )
        for hit in best
    )
