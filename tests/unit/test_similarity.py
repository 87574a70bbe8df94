"""How like texts are, in the language that the local model has learnt and in others."""

from __future__ import annotations

import asyncio
from operator import mul

import pytest

from app.adapters.local_embedder import LocalEmbedder, inner_products
from app.services.similarity import UNKNOWN_LANGUAGE_LENGTH, SimilarityEncoder

QUESTION = "¿Qué es la fotosíntesis y cómo la hacen las plantas?"
TOLD = "Con la fotosíntesis las plantas hacen azúcar de la luz que les llega."
FOREIGN = "El equipo que ganó la final de la liga es el que más puntos ha hecho en el año."


def similarity(question: str, text: str, language: str) -> float:
    async def measured() -> float:
        vectors = SimilarityEncoder(LocalEmbedder.load(), inner_products)
        asked = await vectors.question(question, language)
        (told,) = await vectors.texts([text], language)
        return float(sum(map(mul, asked, told)))

    return asyncio.run(measured())


def test_what_is_in_one_language_is_not_alike_for_that() -> None:
    foreign, told = (similarity(QUESTION, text, "es") for text in (FOREIGN, TOLD))
    foreign_before, told_before = (similarity(QUESTION, text, "en") for text in (FOREIGN, TOLD))
    assert foreign < foreign_before / 2
    assert told - foreign > told_before - foreign_before + 0.15


def test_in_a_language_that_is_not_known_likeness_counts_less() -> None:
    whole = similarity(QUESTION, TOLD, "en")
    assert similarity(QUESTION, TOLD, "xx") == pytest.approx(UNKNOWN_LANGUAGE_LENGTH * whole)
    assert similarity(QUESTION, TOLD, "zh") == whole


def test_a_text_of_function_words_alone_has_a_vector_all_the_same() -> None:
    assert -1.0 <= similarity("¿Qué es eso?", "Es lo que es.", "es") <= 1.0
    assert similarity("", "", "es") == similarity("", "", "es")
