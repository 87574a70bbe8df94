"""A model's text twice as long takes twice the steps, whatever it repeats."""

from __future__ import annotations

from functools import partial

import pytest

from app.adapters.sentences import split_sentences
from app.domain.answering.cited_answer import CitedAnswerBuilder
from app.domain.answering.verification import Verifier, by_paragraph
from app.domain.generated_text.model_text import GeneratedText
from tests.attacking import steps
from tests.fake_world import context_of, in_order, passage, terms

pytestmark = pytest.mark.attack("answers")

SENTENCE = "Owls hunt mice at night. "
LENGTH = 2 * len(SENTENCE) * 25
"""Characters."""
MOST = 2.3
PATTERNS = [
    *("claims ", "[1", "[1] ", "$", "*", "\\", SENTENCE, "`", "``` ", "```\n", "[", "](", "<a "),
    *("<!--", "&#58;", "https://", "a@b.c ", "|", "\n", "- ", "1. ", "x. Y ", "\u6c34\u3002"),
    *("\u200b", "(2) ", "Owls [1]. ", "[^1]: x", "\\[1\\]", "[x](y) ", "//a"),
]


def answered(text: str, size: int) -> None:
    """Verify an answer that comes in pieces of `size`."""
    context = context_of(
        *in_order(passage(SENTENCE, "p-owls"), passage("Mice eat seeds.", "p-mice"))
    )
    builder = CitedAnswerBuilder(Verifier(by_paragraph(context), terms, split_sentences))
    for at in range(0, len(text), size):
        builder.take(GeneratedText(text[at : at + size], ("p-owls", "p-mice")))
    builder.close()


def steps_of(text: str, size: int) -> int:
    """Return the steps of the answer, once the program's caches of words are filled."""
    answered(text, size)
    return steps(partial(answered, text, size))


@pytest.mark.parametrize("size", [4, 100_000])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_twice_the_text_takes_twice_the_steps(pattern: str, size: int) -> None:
    once = pattern * (LENGTH // len(pattern))
    assert steps_of(once * 2, size) < MOST * steps_of(once, size)
