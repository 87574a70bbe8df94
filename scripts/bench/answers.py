"""Measure answers with every generator: extractive, Cohere, an OpenAI-compatible server.

    python scripts/bench/answers.py [--book BOOK_DIR --site SITE --questions QUESTIONS.jsonl]
        [--exclude-kinds KIND,...]

Runs `textbook-rag eval --helpful` three times on the sample book and its test questions, or on
others. The two providers are the tests' doubles on a local port: Cohere is called by its real SDK
(embed, rerank and chat over HTTP), the other by our own client. The doubles write sentences that
share words with the question, so the figures say nothing about a model's answers. They show that
paragraphs, citations and refusals pass through the whole pipeline. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))  # the doubles are among the tests

from tests.cohere_double import CohereDouble  # noqa: E402
from tests.openai_double import OpenAIDouble, quote_sources  # noqa: E402

COLUMNS = (
    "n",
    "citation_precision",
    "cited_gold",
    "unanswerable_refused",
    "answerable_refused",
    "degraded",
)


def command(env: Mapping[str, str], *arguments: str) -> str:
    """Run `textbook-rag`; pass its stderr through and return its stdout."""
    line = [sys.executable, "-m", "app.cli", *arguments]
    done = subprocess.run(line, env=env, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


@contextmanager
def providers() -> Iterator[Mapping[str, Mapping[str, str]]]:
    """Yield the settings of each run, by name; finally print the number of calls to the doubles."""
    with CohereDouble() as cohere, OpenAIDouble(answering=quote_sources) as other:
        yield {
            "extractive": {},
            "Cohere's SDK, double": {
                "CO_API_KEY": cohere.key,
                "RAG_COHERE_BASE_URL": cohere.url,
                "RAG_COHERE_TIER": "production",
            },
            "OpenAI-compatible, double": {
                "RAG_GENERATOR": "openai",
                "RAG_OPENAI_BASE_URL": other.url,
            },
        }
        calls = {name: len(cohere.to(name)) for name in ("embed", "rerank", "chat")}
        print(f"\nCohere double: {calls}; OpenAI double: {len(other.requests)} requests")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--book", type=Path, default=ROOT / "app/sample_book")
    parser.add_argument("--site", default="")
    parser.add_argument(
        "--questions", type=Path, default=ROOT / "tests/data/sample_questions.jsonl"
    )
    parser.add_argument("--exclude-kinds", default="")
    options = parser.parse_args()
    bare = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("RAG_", "CO_", "COHERE_", "QDRANT_"))
    }
    source = ["--site", options.site] if options.site else []
    if options.exclude_kinds:
        source += ["--exclude-kinds", options.exclude_kinds]
    print("| answers by |", " | ".join(COLUMNS), "|")
    print("|---|" + "---:|" * len(COLUMNS))
    with providers() as runs:
        for name, settings in runs.items():
            with TemporaryDirectory() as home:
                env = {**bare, **settings, "RAG_HOME": home}
                command(env, "ingest", str(options.book.resolve()), *source)
                asked = [str(options.questions.resolve()), "--helpful", "--json"]
                found = json.loads(command(env, "eval", *asked))
            print(
                f"| {name} |", " | ".join(f"{found[key]:.3g}" for key in COLUMNS), "|", flush=True
            )


if __name__ == "__main__":
    main()
