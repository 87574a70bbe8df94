"""Builds the use cases from the settings."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Awaitable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.adapters.index_terms import IndexTerms
from app.adapters.sentences import split_sentences
from app.adapters.sqlite.ledgers import SqliteLedgers
from app.adapters.tokens import token_counter
from app.bootstrap.providers import Providers, paragraph_scorers, similarity_encoder
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
from app.services.chapter_requests import ConsultChapters
from app.services.consultation import ConsultBook
from app.services.lexical import LexicalEncoder, TermUpperBounds
from app.services.page_glossary import LookUpTerms
from app.services.page_locator import PageLocator
from app.services.paragraphs import CiteParagraph
from app.services.ports import BookStore, Embedder, Reranker
from app.services.question_log import QuestionLog, Selected
from app.services.retrieve import Retrieve
from app.services.show_figures import ShowFigures
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
    embedder: Embedder
    index: BookStore
    ledgers: SqliteLedgers
    cite: CiteParagraph
    retrieve: Retrieve
    lexical: LexicalEncoder
    places: PageLocator
    answer: AnswerQuestion
    glossary: LookUpTerms
    pages: BookPages
    providers: Providers
    model: ChatModel | None
    """The model that generates answers."""

    @property
    def ingest(self) -> IngestBook:
        from app.bootstrap.ingesting import ingest_book  # noqa: PLC0415 - servers do not ingest

        return ingest_book(self.settings, self.embedder, self.index, self.ledgers)

    @property
    def evaluate(self) -> Evaluate:
        from app.services.evaluate import Evaluate  # noqa: PLC0415 - nor evaluate

        return Evaluate(self.answer, self.index)

    async def faults(self) -> dict[str, str]:
        """Return by part why it fails; only the operator may see those of keys and question log."""
        log, provider = self.question_log, self.providers.fault
        checked = await _why(self.model.check()) if self.model else ""
        found = {
            "embedder": await provider("embedder"),
            "generator": checked or await provider("generator"),
            "disk": (await self.disk()).fault,
            "keys": await _why(asyncio.to_thread(site_keys(self.settings).all)),
            "question log": await _why(log.store.find(Selected(ids=("",)))) if log else "",
        }
        return {part: fault for part, fault in found.items() if fault}

    async def disk(self) -> Disk:
        return await asyncio.to_thread(disk_of, self.settings)

    @property
    def question_log(self) -> QuestionLog | None:
        return self.answer.question_log


async def _why(check: Awaitable[object]) -> str:
    """Return why a check fails; "" if it does not."""
    try:
        await check
    except ProviderError as error:
        return error.reason
    except (ConfigError, StorageError) as error:
        return str(error)
    return ""


@asynccontextmanager
async def application(settings: Settings) -> AsyncIterator[Application]:
    """Open the adapters that the settings choose; close them at the end of the context.

    ConfigError if the settings are incomplete or contradict each other.
    """
    async with AsyncExitStack() as stack:
        index = await stack.enter_async_context(open_index(settings))
        providers = Providers(settings, stack)
        embedder, reranker = await providers.embedder(), await providers.reranker()
        model = await providers.language_model()
        log = await stack.enter_async_context(question_log(settings))
        answer = await _answering(settings, index, embedder, reranker, model, log)
        ledgers, consult = ledger_store(settings), answer.consult
        gc.set_threshold(_NEW_OBJECTS)
        yield Application(
            settings=settings,
            embedder=embedder,
            index=index,
            ledgers=ledgers,
            cite=CiteParagraph(index, ledgers),
            retrieve=consult.retrieve,
            lexical=consult.retrieve.analysis.lexical,
            places=consult.places,
            answer=answer,
            glossary=LookUpTerms(index),
            pages=book_pages(settings),
            providers=providers,
            model=model,
        )


async def _answering(
    settings: Settings,
    index: BookStore,
    embedder: Embedder,
    reranker: Reranker | None,
    model: ChatModel | None,
    log: QuestionLog | None,
) -> AnswerQuestion:
    count_tokens = await asyncio.to_thread(token_counter)
    similarity = await similarity_encoder()
    terms, bounds = IndexTerms(), TermUpperBounds(index)
    lexical = LexicalEncoder(terms.of_document, terms.of_query)
    vocabulary = BookVocabulary(index, lexical, bounds, count_tokens)
    analysis = AnalyseQuestion(embedder, lexical, bounds, similarity, vocabulary, rewriter=model)
    places = PageLocator(index)
    consult = ConsultBook(
        retrieve=Retrieve(analysis, index, reranker, count_tokens),
        places=places,
        refusal_policy=RefusalPolicy(
            settings.refusal_threshold,
            settings.answer_threshold,
            model=model is not None,
            relevance_threshold=settings.relevance_threshold,
        ),
        context_tokens=settings.context_tokens,
    )
    scorers = paragraph_scorers(embedder, reranker, similarity)
    return AnswerQuestion(
        consult=consult,
        chapters=ConsultChapters(
            places, lexical, count_tokens, split_sentences, settings.context_tokens
        ),
        write=WriteAnswer(split_sentences, similarity, scorers, model),
        figures=ShowFigures(index, settings.image_origins),
        question_log=log,
    )
