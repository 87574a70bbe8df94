"""Builds the use cases from the settings."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from app.adapters.fastembed.embedder import FastembedEmbedder
from app.adapters.index_terms import IndexTerms
from app.adapters.local_embedder import inner_products
from app.adapters.sentences import split_sentences
from app.adapters.sqlite.ledgers import SqliteLedgers
from app.adapters.tokens import token_counter
from app.bootstrap.providers import (
    OwnEmbedder,
    Providers,
    local_embedder,
    paragraph_scorers,
)
from app.bootstrap.storage import (
    BookPages,
    Disk,
    book_pages,
    disk_of,
    ledger_store,
    open_index,
    question_log,
    site_keys,
)
from app.domain.answering.answerability import RefusalPolicy
from app.domain.errors import ConfigError, ProviderError, StorageError
from app.services.analyse_question import AnalyseQuestion
from app.services.answer_question import AnswerQuestion
from app.services.answerability_scorer import AnswerabilityScorer
from app.services.budget import Budget
from app.services.chapter_requests import ConsultChapters
from app.services.consultation import ConsultBook
from app.services.feature_reranker import FeatureReranker
from app.services.lexical import LexicalEncoder, TermUpperBounds
from app.services.page_glossary import LookUpTerms
from app.services.page_locator import PageLocator
from app.services.paragraphs import CiteParagraph
from app.services.ports import BookStore, Embedder, Reranker
from app.services.question_log import QuestionLog, Selected
from app.services.resilience import CircuitBreaker
from app.services.retrieve import Retrieve
from app.services.show_figures import ShowFigures
from app.services.similarity import SimilarityEncoder
from app.services.vocabulary import BookVocabulary
from app.services.write_answer import WriteAnswer
from app.settings import Settings

if TYPE_CHECKING:
    from app.adapters.providers.chat import ChatModel
    from app.services.evaluate import Evaluate
    from app.services.ingest import IngestBook

_NEW_OBJECTS = 10_000
"""New objects before a garbage collection. Answers to 300 students' questions leave many in caches:
collections took 3.5 s of their first round with Python's default of 700, now 0.7 s.
"""


@dataclass(frozen=True, slots=True)
class Application:
    """The use cases, and the state that the entry points report."""

    settings: Settings
    embedder: OwnEmbedder
    index: BookStore
    ledgers: SqliteLedgers
    cite: CiteParagraph
    retrieve: Retrieve
    answer: AnswerQuestion
    glossary: LookUpTerms
    pages: BookPages
    budget: Budget
    breakers: Mapping[str, CircuitBreaker] = field(default_factory=dict)
    """Circuit breakers by the provider's role: "embedder", "reranker", "rewriter", "generator"."""
    check_model: Callable[[], Awaitable[None]] | None = None
    """Checks the connection to the model server; None if there is none."""

    @property
    def ingest(self) -> IngestBook:
        from app.bootstrap.ingesting import ingest_book  # noqa: PLC0415 - servers do not ingest

        return ingest_book(self.settings, self.embedder, self.index, self.ledgers)

    @property
    def evaluate(self) -> Evaluate:
        from app.services.evaluate import Evaluate  # noqa: PLC0415 - nor evaluate

        budget = self.settings.context_tokens
        return Evaluate(self.retrieve, self.answer, time.perf_counter, budget)

    async def model_fault(self) -> str:
        """Return why the model is unavailable, so that answers are extractive; "" without fault."""
        try:
            if self.check_model:
                await self.check_model()
        except ProviderError as error:
            return error.reason
        except ConfigError as error:
            return str(error)
        return await self._fault("generator")

    async def _fault(self, part: str) -> str:
        """Return why a provider is not called; "" if it is, or if there is none."""
        if part not in self.breakers:
            return ""
        return self.breakers[part].fault or await self.budget.fault()

    async def faults(self) -> dict[str, str]:
        """Return by part why it fails; without the names of files, which only the operator sees."""
        found = {
            "embedder": await self._fault("embedder"),
            "generator": await self.model_fault(),
            "disk": (await self.disk()).fault,
            **dict.fromkeys(await self.unreadable_stores(), "damaged"),
        }
        return {part: fault for part, fault in found.items() if fault}

    async def disk(self) -> Disk:
        return await asyncio.to_thread(disk_of, self.settings)

    async def unreadable_stores(self) -> dict[str, str]:
        """Return the reason by name, "keys" or "question log", for those that are damaged."""
        found = {}
        try:
            await asyncio.to_thread(site_keys(self.settings).all)
        except StorageError as error:
            found["keys"] = str(error)
        try:
            if self.question_log:
                await self.question_log.store.find(Selected(ids=("",)))
        except StorageError as error:
            found["question log"] = str(error)
        return found

    @property
    def question_log(self) -> QuestionLog | None:
        return self.answer.question_log


@asynccontextmanager
async def application(settings: Settings) -> AsyncIterator[Application]:
    """Open the adapters that the settings choose; close them at the end of the context.

    ConfigError if the settings are incomplete or contradict each other.
    """
    async with AsyncExitStack() as stack:
        index = await stack.enter_async_context(open_index(settings))
        providers = Providers.of(settings, stack)
        embedder, reranker = await providers.embedder(), await providers.reranker()
        model = await providers.language_model()
        log = await stack.enter_async_context(question_log(settings))
        count_tokens = await asyncio.to_thread(token_counter)
        local = await local_embedder(embedder)
        retrieve, answer = _answering(
            settings, index, embedder, local, reranker, model, log, count_tokens
        )
        ledgers = ledger_store(settings)
        gc.set_threshold(_NEW_OBJECTS)
        yield Application(
            settings=settings,
            embedder=embedder,
            index=index,
            ledgers=ledgers,
            cite=CiteParagraph(index, ledgers),
            retrieve=retrieve,
            answer=answer,
            glossary=LookUpTerms(index),
            pages=book_pages(settings),
            check_model=model.check if model else None,
            budget=providers.budget,
            breakers=providers.breakers,
        )


def _answering(
    settings: Settings,
    index: BookStore,
    embedder: OwnEmbedder,
    local: Embedder,
    reranker: Reranker | None,
    model: ChatModel | None,
    log: QuestionLog | None,
    count_tokens: Callable[[str], int],
) -> tuple[Retrieve, AnswerQuestion]:
    """Build the use cases that search and answer."""
    terms, bounds = IndexTerms(), TermUpperBounds(index)
    lexical = LexicalEncoder(terms.of_document, terms.of_query)
    similarity = SimilarityEncoder(local, inner_products)
    vocabulary = BookVocabulary(index, lexical, bounds, count_tokens)
    analysis = AnalyseQuestion(
        embedder,
        lexical,
        bounds,
        similarity,
        vocabulary,
        rewriter=model,
        multilingual=isinstance(embedder, FastembedEmbedder) and embedder.multilingual,
    )
    feature_reranker = FeatureReranker(lexical.ordered_terms, similarity)
    retrieve = Retrieve(
        analysis=analysis,
        index=index,
        reranker=reranker,
        count_tokens=count_tokens,
        feature_reranker=feature_reranker,
    )
    consult = ConsultBook(
        retrieve=retrieve,
        places=PageLocator(index),
        scorer=AnswerabilityScorer(similarity, feature_reranker.terms_of),
        refusal_policy=RefusalPolicy(
            settings.refusal_threshold,
            settings.answer_threshold,
            relevance_threshold=settings.relevance_threshold,
        ),
        vocabulary=vocabulary,
        context_tokens=settings.context_tokens,
    )
    scorers = paragraph_scorers(embedder, reranker)
    answer = AnswerQuestion(
        consult=consult,
        chapters=ConsultChapters(consult, split_sentences),
        write=WriteAnswer(split_sentences, similarity, scorers),
        figures=ShowFigures(index, settings.image_origins.split(",")),
        question_log=log,
    )
    return retrieve, answer.written_by(model) if model else answer
