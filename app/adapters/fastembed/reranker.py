"""A cross-encoder that fastembed runs. It reads a question and a paragraph together."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from math import exp
from pathlib import Path
from time import thread_time
from typing import TYPE_CHECKING

from cachetools import LRUCache

from app.adapters.fastembed.models import kinds, load
from app.services.threads import in_thread

if TYPE_CHECKING:
    from fastembed.rerank.cross_encoder import TextCrossEncoder

SECONDS = 0.3
"""CPU time after which no further paragraph of a question is read."""
_CACHED = 4_000
"""Questions with a paragraph whose relevance is cached."""
_MODEL_LANGUAGE = "en"
_MULTILINGUAL = re.compile(r"multilingual|-m3", re.IGNORECASE)


class FastembedReranker:
    """Implements the `Reranker` port.

    Its scores order the paragraphs of one question, but one threshold does not hold for all.
    """

    calibrated = False
    reads_paragraphs = True

    def __init__(self, model: TextCrossEncoder, name: str) -> None:
        self.name = name
        self._model = model
        self._seconds = SECONDS
        self._multilingual = bool(_MULTILINGUAL.search(name))
        self._known: LRUCache[tuple[str, str], float] = LRUCache(_CACHED)
        self._lock = threading.Lock()

    @classmethod
    def load(cls, name: str, folder: Path) -> FastembedReranker:
        """Read the model from the folder of models. ConfigError if that fails."""
        # With one thread its CPU time can be measured.
        return cls(load(kinds()[1], name, folder, threads=1), name)

    def reads(self, asked_in: str, language: str) -> bool:
        return self._multilingual or asked_in == language == _MODEL_LANGUAGE

    @in_thread
    def scores(self, question: str, texts: Sequence[str]) -> Sequence[float | None]:
        end = thread_time() + self._seconds
        read = {}
        for text in dict.fromkeys(texts):
            with self._lock:
                score = self._known.get((question, text))
            if score is None and thread_time() < end:
                # One at a time: in a batch all are as long as the longest one.
                (logit,) = self._model.rerank(question, [text])
                score = 1 / (1 + exp(-min(max(logit, -50.0), 50.0)))
                with self._lock:
                    self._known[question, text] = score
            if score is not None:
                read[text] = score
        return [*map(read.get, texts)]
