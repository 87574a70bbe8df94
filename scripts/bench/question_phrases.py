"""How much the words of a question around its subject disturb a search.

    python scripts/bench/question_phrases.py BOOK_DIR... [--home DIR] [--sample 120]

Ingests each book and asks for headings that occur once in it, alone and within questions such as
"什么是X" and "can you explain X to me, please". Prints the share of headings whose section is found
first and among the first five, and of questions marked as answered: as the program does, with the
question's phrases, and if only a whole question can be a term to define (`definition_terms`). For
comparisons of two headings it prints the share with both sections among an answer's hits, and with
one of them.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import re
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from dev_sets import Silent

from app.bootstrap.application import Application, application
from app.domain.answer import Confidence
from app.domain.answering.request import ANSWER_CHUNKS, AskRequest
from app.domain.book_id import BookId
from app.domain.retrieval import definition_terms
from app.domain.retrieval.query import Hit, SearchFilter, SearchQuery
from app.domain.search_text import SearchText
from app.domain.terms import words
from app.services import analyse_question
from app.services.ingest_plan import IngestRequest
from app.services.phases import Phases
from app.settings import Settings

FRAMES = {
    "de": (
        "{}",
        "Was ist {}?",
        "Kannst du mir bitte {} erklären?",
        "hallo, kurze frage: was ist eigentlich {} genau",
        "Ich schreibe morgen eine Klausur. Was ist {}?",
        "hab die vorlesung verpasst, wie funktioniert {}",
    ),
    "en": (
        "{}",
        "What is {}?",
        "could you tell me what {} is?",
        "hey, quick question: what exactly is {}? thanks",
        "i still dont get {}",
        "pls explain {} to me like i'm five",
        "idk what {} is, any help",
        "where does the book talk about {}",
        "why is {} important",
        "how do i use {}",
        "{} example",
        "advantages of {}",
        "types of {}",
        "is {} hard",
        "summary of {}",
        "pros and cons of {}",
        "I have an exam tomorrow. What is {}?",
        "i missed the lecture, how does {} work",
    ),
    "es": (
        "{}",
        "¿Qué es {}?",
        "hola, ¿me puedes explicar qué es {}?",
        "tengo examen mañana. ¿Cómo funciona {}?",
        "no entiendo bien {}, ayuda",
        "q es {}",
        "que es {} y para que sirve",
        "alguien me explica {} porfa",
        "para qué se usa {}",
        "ejemplo de {}",
        "me podrías dar un resumen de {}?",
        "en qué capítulo se habla de {}",
    ),
    "fr": (
        "{}",
        "Qu'est-ce que {} ?",
        "c'est quoi {} ?",
        "bonjour, pouvez-vous m'expliquer ce qu'est {} svp",
        "j'ai un contrôle demain. Comment fonctionne {} ?",
        "c koi {}",
        "j'ai pas compris {}, quelqu'un peut m'aider ?",
        "a quoi sert {}",
        "ça veut dire quoi {}",
        "exemple de {}",
        "quelqu'un peut m'expliquer {} simplement ?",
        "ou est-ce que le livre parle de {}",
    ),
    "it": (
        "{}",
        "Che cos'è {}?",
        "ciao, mi potresti spiegare cos'è {}?",
        "domani ho la verifica. Come funziona {}?",
        "nn ho capito {}, qualcuno mi aiuta?",
        "cos'e {}",
        "a cosa serve {}",
        "mi spieghi {} in parole semplici?",
        "che vuol dire {}",
        "esempio di {}",
        "in quale capitolo si parla di {}",
        "scusate, qualcuno sa come si usa {}",
    ),
    "pt": (
        "{}",
        "O que é {}?",
        "oi, alguém pode me explicar o que é {}?",
        "tenho prova amanhã. Como funciona {}?",
        "não entendi nada de {}, me ajuda",
        "oq é {}",
        "o que e {} e pra que serve",
        "me explica {} de um jeito simples",
        "o que significa {}",
        "exemplo de {}",
        "onde o livro fala de {}",
        "vc sabe como usar {}",
    ),
    "ja": (
        "{}",
        "{}とは何ですか",
        "{}とは？",
        "{}について教えてください",
        "なぜ{}が必要なのですか",
    ),
    "zh": ("{}", "什么是{}", "{}是什么意思？", "请问{}怎么用", "为什么需要{}？"),
}
UNLISTED = {
    "en": (
        "lol what even is {}",
        "my teacher kept going on about {} yesterday and i zoned out, what was that",
        "give me the gist of {}",
        "can u break down {} for a noob",
        "been reading for hours and still no clue about {}",
        "whats the point of {}",
        "in one sentence, {}",
        "somebody walk me through {} step by step",
        "Good morning! Would it be possible to clarify {}?",
        "{}?? totally lost here",
        "I keep hearing about {}, should I care?",
    ),
}
"""Written after the phrases that are left out of questions, none of which may be added for them."""
COMPARISONS = {
    "de": ("Was ist der Unterschied zwischen {} und {}?",),
    "en": ("difference between {} and {}", "{} vs {}", "how is {} different from {}"),
    "es": ("cual es la diferencia entre {} y {}", "en qué se diferencian {} y {}", "{} vs {}"),
    "fr": ("difference entre {} et {}", "quelle est la différence entre {} et {} ?", "{} vs {}"),
    "it": ("che differenza c'è tra {} e {}?", "in cosa si distinguono {} e {}", "{} vs {}"),
    "pt": ("qual a diferença entre {} e {}?", "diferenca entre {} e {}", "{} vs {}"),
}
_UNSPACED = re.compile(r"[\u3040-\u9fff]")
_CHARACTERS = range(2, 15)
_WORDS = range(1, 4)


def is_subject(title: str) -> bool:
    if _UNSPACED.search(title):
        return len(title) in _CHARACTERS
    return len(title.split()) in _WORDS and title.replace(" ", "").isalpha()


async def headings(app: Application, book: BookId, size: int) -> list[tuple[str, str]]:
    """Return headings that occur once in the book, with the file of each."""
    files: dict[str, set[str]] = {}
    for chunk in await app.index.matching(SearchFilter(books=(book,))):
        for passage in chunk.passages:
            files.setdefault(passage.heading_path[-1], set()).add(chunk.file)
    found = [
        (title, next(iter(held)))
        for title, held in sorted(files.items())
        if len(held) == 1 and is_subject(title)
    ]
    return random.Random(3).sample(found, min(size, len(found)))


def is_in_section(hit: Hit, title: str, file: str) -> bool:
    titles = (one.heading_path[-1] for one in hit.chunk.passages)
    return hit.chunk.file == file and title in titles


async def measure(app: Application, book: BookId, asked: Sequence[tuple[str, str]]) -> None:
    manifest = await app.index.manifest(book)
    language = manifest.language if manifest else ""
    for frame in (*FRAMES[language], *UNLISTED.get(language, ())):
        first = five = answered = 0
        for title, file in asked:
            of_book = SearchFilter(books=(book,))
            query = SearchQuery(frame.format(title), k=5, filter=of_book)
            hits = (await app.retrieve.search(query)).hits
            right = [is_in_section(hit, title, file) for hit in hits]
            first += right[:1] == [True]
            five += any(right)
            answer = await app.answer.answer(AskRequest(query.question, filter=of_book))
            answered += answer.confidence is Confidence.ANSWERED
        n = len(asked)
        shares = f"{first / n:.3f} / {five / n:.3f} | {answered / n:.1%}"
        print(f"| {book} | {frame.format('X')} | {n} | {shares} |", flush=True)


async def measure_pairs(app: Application, book: BookId, asked: Sequence[tuple[str, str]]) -> None:
    """Print for how many pairs of headings both sections, or one, are among an answer's hits."""
    manifest = await app.index.manifest(book)
    chance = random.Random(9)
    pairs = [chance.sample(list(asked), 2) for _ in asked]
    for frame in COMPARISONS.get(manifest.language if manifest else "", ()):
        both = one = 0
        for pair in pairs:
            question = frame.format(*(title for title, _ in pair))
            query = SearchQuery(question, k=ANSWER_CHUNKS, filter=SearchFilter(books=(book,)))
            hits = (await app.retrieve.search(query)).hits
            found = [any(is_in_section(hit, *section) for hit in hits) for section in pair]
            both += all(found)
            one += any(found)
        n = len(pairs)
        print(f"| {book} | {frame.format('X', 'Y')} | {n} | {both / n:.3f} / {one / n:.3f} |")


def unchanged(question: str, _language: str) -> SearchText:
    return SearchText(question, tuple(words(question)))


async def run(folders: Sequence[Path], home: Path, size: int) -> None:
    async with application(Settings(home=home, embedder="local", generator="extractive")) as app:
        for folder in folders:
            await app.ingest.run(IngestRequest(folder, book=BookId(folder.name)), Phases(Silent()))
        for folder in folders:
            book = BookId(folder.name)
            asked = await headings(app, book, size)
            await measure(app, book, asked)
            await measure_pairs(app, book, asked)
            print("with the phrases:")
            with patch.object(analyse_question, "search_text", unchanged):
                await measure(app, book, asked)
            print("whole questions as terms:")
            with patch.object(definition_terms, "LEAST_SHARE", 1.1):
                await measure(app, book, asked)
                await measure_pairs(app, book, asked)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("books", nargs="+", type=Path, metavar="BOOK_DIR")
    parser.add_argument("--home", type=Path, help="where the index is kept (a temporary folder)")
    parser.add_argument("--sample", type=int, default=120)
    options = parser.parse_args()
    with TemporaryDirectory() as scratch:
        asyncio.run(run(options.books, options.home or Path(scratch), options.sample))


if __name__ == "__main__":
    main()
