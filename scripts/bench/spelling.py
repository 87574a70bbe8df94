"""How many misspelt words are corrected, and how many correct words are changed.

    python scripts/bench/spelling.py ../shared/data --home /tmp/ablation-index

Each of up to 400 questions of a set gets one error (a letter missing, doubled, wrong or swapped
with the next) in a random word of five or more letters in lower case, and is corrected by the words
of the set's book. Questions about the other books count how often a book changes a correct question
that it cannot answer: it may then answer another one. Offline, with a fixed seed.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from pathlib import Path

from dev_sets import DEV_SETS, dev_sets_parser, indexed

from app.adapters.question_file import read_questions
from app.services.ports import BookList
from app.services.vocabulary import SHORTEST, BookVocabulary, plain_words, replaced

QUESTIONS = 400
OF_OTHER_BOOKS = 100
"""Questions of each other set."""
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def misspelt(word: str, chance: random.Random) -> str:
    """Return the word with one error, never in its first letter."""
    at = chance.randrange(1, len(word) - 1)
    before, letter, after = word[:at], word[at], word[at + 1 :]
    errors = (
        after,
        letter * 2 + after,
        chance.choice(LETTERS) + after,
        after[0] + letter + after[1:],
    )
    return before + chance.choice(errors)


async def corrected(
    vocabulary: BookVocabulary, books: BookList, questions: list[str]
) -> Counter[str]:
    chance = random.Random(7)
    found: Counter[str] = Counter()
    for question in questions:
        words = [one for one in plain_words(question) if len(one) >= SHORTEST and one.islower()]
        word = chance.choice(words) if words else ""
        wrong = misspelt(word, chance) if word else ""
        if wrong == word:
            continue
        asked = replaced(question, {word: wrong})
        result, _ = await vocabulary.corrected(asked, books)
        right = result.lower() == question.lower()
        found["right" if right else "unchanged" if result == asked else "other word"] += 1
    return found


async def run(data: Path, home: Path) -> None:
    sets = [one for one in DEV_SETS if one.questions]
    of_set = {
        one: [
            each.question for each in read_questions(data / f"qa/{one.questions}/questions.jsonl")
        ]
        for one in sets
    }
    async with indexed(data, home, sets) as app:
        vocabulary = app.answer.consult.vocabulary
        print(f"{'':20} misspelt  right  other word  unchanged | of other books  changed")
        for one in sets:
            books = (await app.index.books()).only([one.book])
            found = await corrected(vocabulary, books, of_set[one][:QUESTIONS])
            n = found.total()
            others = [
                text for other in sets if other != one for text in of_set[other][:OF_OTHER_BOOKS]
            ]
            changed = [
                text for text in others if (await vocabulary.corrected(text, books))[0] != text
            ]
            shares = [found[key] / n for key in ("right", "other word", "unchanged")]
            print(
                f"{one.book:20} {n:8} {shares[0]:6.1%} {shares[1]:11.1%} {shares[2]:10.1%} |"
                f" {len(others):14} {len(changed) / len(others):8.1%}"
            )


def main() -> None:
    options = dev_sets_parser(__doc__).parse_args()
    asyncio.run(run(options.data, options.home))


if __name__ == "__main__":
    main()
