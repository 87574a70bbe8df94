"""Hostile text is read whole or refused, in linear time: twice the text takes twice the steps.

Steps are counted, not timed: calls of Python functions and returns of those of C. Work inside of
one call does not count.
"""

import sys
from itertools import count

import pytest

from app.domain.document import Site
from app.domain.errors import BookError
from tests.markdown_pages import assert_sound, read_text
from tests.reading_patterns import PATTERNS

pytestmark = pytest.mark.attack

SIZE = 400
"""Characters of the shorter text."""
MOST = 2.4
"""Steps for a text of twice its length; what is done once for each text counts for both."""


def steps(text: str, site: Site) -> int:
    counted = count()
    sys.setprofile(lambda *_: next(counted) and None)
    try:
        assert_sound(read_text(text, site=site))
    except BookError:
        pass
    finally:
        sys.setprofile(None)
    return next(counted)


@pytest.mark.parametrize("name", PATTERNS)
def test_twice_the_text_takes_twice_the_steps(name: str) -> None:
    texts = [PATTERNS[name](size) for size in (SIZE, 2 * SIZE)]
    for site in Site:
        once, twice = (steps(text, site) for text in texts)
        assert twice <= MOST * once, site
