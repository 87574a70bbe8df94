"""CPU time of parsing a text twice as long: a ratio of about 2 if parsing is linear, 4 if
quadratic.

    python scripts/bench/doubling.py [--site plain ...] [--pattern NAME ...] [--seconds 0.1]

For each pattern of `tests/reading_patterns.py` and each dialect, the text is doubled until parsing
takes `--seconds`; then the time for the last text is divided by the time for half of it. Prints a
table of patterns by dialects with microseconds per character and the ratio. Cells are marked if the
ratio is above 2.6 or a character takes over 100 microseconds, and "refused" if the reading budget
stops the text first.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))  # the patterns are among the tests

from app.adapters.reading.book import read_text  # noqa: E402
from app.domain.document import Site  # noqa: E402
from app.domain.errors import BookError  # noqa: E402
from app.services.gc_control import paused_gc  # noqa: E402
from tests.reading_patterns import PATTERNS, Pattern  # noqa: E402

SMALLEST, LARGEST = 1_000, 2_048_000
RATIO, MICROSECONDS = 2.6, 100.0
PATIENCE = 20
"""CPU seconds after which a text is abandoned."""


def seconds(text: str, site: Site) -> float:
    with paused_gc():
        start = time.process_time()
        read_text(text, site=site, file="page.mdx" if site is Site.DOCUSAURUS else "page.md")
        return time.process_time() - start


def measured(pattern: Pattern, site: Site, enough: float) -> str:
    """One cell of the table."""
    size, before = SMALLEST, 0.0
    while True:
        text = pattern(size)
        signal.setitimer(signal.ITIMER_PROF, PATIENCE)
        try:
            taken = min(seconds(text, site) for _ in range(2 if before > enough / 4 else 1))
        except BookError:
            return f"{'refused':>14} "
        except (TimeoutError, RecursionError) as error:
            return f"{type(error).__name__[:8]} {len(text):>5}!"
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        if taken >= enough or size >= LARGEST:
            ratio, each = taken / before if before else 0.0, taken / len(text) * 1e6
            slow = (ratio > RATIO and taken > enough / 2) or each > MICROSECONDS
            return f"{each:8.2f} {ratio:5.2f}{'!' if slow else ' '}"
        size, before = size * 2, taken


def given_up(_signal: int, _frame: object) -> None:
    raise TimeoutError


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    arguments.add_argument("--site", nargs="+", type=Site, default=list(Site))
    arguments.add_argument("--pattern", nargs="+", default=list(PATTERNS))
    arguments.add_argument("--seconds", type=float, default=0.1)
    options = arguments.parse_args()
    signal.signal(signal.SIGPROF, given_up)
    print(f"{'pattern':40}" + "".join(f"{site:>16}" for site in options.site))
    for name in options.pattern:
        cells = [measured(PATTERNS[name], site, options.seconds) for site in options.site]
        print(f"{name:40} " + " ".join(cells), flush=True)


if __name__ == "__main__":
    main()
