"""Reading is linear: a text twice as long takes twice the steps, counted, not timed.

A step is a call of a Python function or the return of one of C. Work inside of one call does not
count.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial

import pytest

from app.domain.document import Site
from app.domain.errors import BookError
from tests.attacking import tried
from tests.markdown_pages import read_text
from tests.reading_patterns import PATTERNS

pytestmark = pytest.mark.attack("patterns")

SIZE = 400
"""Characters of the shorter text."""
MOST = 2.4
"""Steps for a text of twice its length; what is done once for each text counts for both."""


def steps(work: Callable[[], object]) -> int:
    tried()
    count = 0

    def step(_frame: object, _event: str, _argument: object) -> None:
        nonlocal count
        count += 1

    sys.setprofile(step)
    try:
        work()
    except BookError:
        pass
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("name", PATTERNS)
def test_twice_the_text_takes_twice_the_steps(name: str) -> None:
    texts = [PATTERNS[name](size) for size in (SIZE, 2 * SIZE)]
    for site in Site:
        once, twice = (steps(partial(read_text, text, site=site)) for text in texts)
        assert twice <= MOST * once, site
