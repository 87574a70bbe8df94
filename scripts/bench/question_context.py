"""Students' questions in title case, in capitals, and with sentences that ask nothing.

    python scripts/bench/question_context.py --home /tmp/students-index

Asks the questions without history of the development half of `tests/data/student_questions.jsonl`
as they are and in other forms, from an index of the books they name, made by
`scripts/bench/students.py` or `textbook-rag ingest`. Prints for each form the share of answerable
questions whose key facts are shown, that are answered, uncertain or refused, and of unanswerable
ones that are answered. Then the same for 20 off-topic questions with their context, about each
book.
"""

from __future__ import annotations

import argparse
import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from dev_sets import ROOT

from app.adapters.question_file import read_questions
from app.bootstrap.application import Application, application
from app.domain.answer import Answer, Confidence
from app.domain.answering.request import AskRequest
from app.domain.evaluation.gold_question import Question
from app.domain.evaluation.helpfulness import has_facts
from app.domain.retrieval.query import SearchFilter
from app.services.evaluate import ask_request
from app.settings import Settings

FORMS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "Title Case": lambda text: " ".join(word[:1].upper() + word[1:] for word in text.split()),
    "CAPITALS": str.upper,
    "lower case": str.lower,
    "I have an exam tomorrow. X": "I have an exam tomorrow. {}".format,
    "I'm reading the chapter on my own and got lost. X": (
        "I'm reading the chapter on my own and got lost. {}".format
    ),
    "i missed the last lecture, X": "i missed the last lecture, {}".format,
    "My professor mentioned this in class but went too fast. X Thanks in advance!": (
        "My professor mentioned this in class but went too fast. {} Thanks in advance!".format
    ),
    "X? I really need to understand this for my test.": lambda text: (
        f"{text.rstrip('?.')}? I really need to understand this for my test."
    ),
}
OFF_TOPIC = (
    "My laptop is slow. What should I do?",
    "I broke up with my girlfriend. How do I feel better?",
    "My program crashes on my phone. Why does it stop?",
    "I want to buy a house in Berlin. What does it cost?",
    "We went to Paris last summer. What should we see next time?",
    "I play guitar in a band. Which strings are best?",
    "My dog ate chocolate. What should I give him to eat?",
    "I am learning to cook pasta. How long does it take?",
    "my landlord raised the rent, what can i do",
    "Our football team lost again. Who should play in front?",
    "I have to write a poem about autumn. How do I start?",
    "The train to Munich was late. When does the next one leave?",
    "I want to lose weight. Which food should I avoid?",
    "My car makes a noise. What is the problem?",
    "I'm planning a trip to Japan. What is the best time?",
    "My sister is getting married. What is a good present?",
    "I bought bitcoin last year. Why is the price going down?",
    "my wifi is down, how do i reset the router",
    "I forgot my bank password. How do I change it?",
    "My Spanish is bad. How can I learn new words?",
)


def shown(answer: Answer) -> str:
    return "\n\n".join(one.text for one in answer.passages) or answer.answer


async def of_form(app: Application, questions: Sequence[Question], form: str) -> str:
    """Ask all questions in this form; return a row of the table."""
    confidences: Counter[Confidence] = Counter()
    facts = answerable = wrong = 0
    for question in questions:
        request = ask_request(question, question.book)
        answer = await app.answer.answer(replace(request, question=FORMS[form](question.question)))
        if not question.answerable:
            wrong += answer.confidence is Confidence.ANSWERED
            continue
        answerable += 1
        confidences[answer.confidence] += 1
        facts += not answer.refused and has_facts(shown(answer), question.key_facts)
    shares = [facts, *(confidences[one] for one in Confidence)]
    cells = [f"{share / answerable:.1%}" for share in shares]
    cells.append(f"{wrong / (len(questions) - answerable):.1%}")
    return f"| {form} | {' | '.join(cells)} |"


async def off_topic(app: Application) -> Counter[Confidence]:
    found: Counter[Confidence] = Counter()
    for book in await app.index.books():
        for question in OFF_TOPIC:
            request = AskRequest(question, filter=SearchFilter(books=(book,)))
            found[(await app.answer.answer(request)).confidence] += 1
    return found


async def run(home: Path) -> None:
    settings = Settings(home=home, embedder="local", generator="extractive")
    questions = [
        one
        for one in read_questions(ROOT / "tests/data/student_questions.jsonl")
        if one.half == "development" and not one.history
    ]
    print(f"| form | shown | {' | '.join(Confidence)} | unanswerable answered |")
    print(f"|---|{'---:|' * (len(Confidence) + 2)}")
    async with application(settings) as app:
        for form in FORMS:
            print(await of_form(app, questions, form), flush=True)
        found = await off_topic(app)
        shares = [f"{one} {found[one] / found.total():.0%}" for one in Confidence]
        print(f"\noff-topic questions with their context: {', '.join(shares)} of {found.total()}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--home", type=Path, required=True, help="where the index is kept")
    asyncio.run(run(parser.parse_args().home))


if __name__ == "__main__":
    main()
