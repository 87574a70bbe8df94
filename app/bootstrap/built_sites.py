"""Opens a built site, to check links on it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from app.adapters.reading.built_site import page_at
from app.adapters.reading.source_files import SourceFiles
from app.bootstrap.books import fetched
from app.domain.errors import InputError
from app.domain.page_text import BuiltPage
from app.settings import Settings


async def built_site(
    location: str, base_url: str, settings: Settings
) -> Callable[[str], BuiltPage | None]:
    """Return what finds the page of a URL on a site in a folder or at an address, which is fetched.

    InputError if it is neither, or cannot be fetched.
    """
    folder = Path(location)
    if "://" in location:
        # It may be a preview on the author's machine.
        folder = (await fetched(location, settings, allow_private=True)).folder
    elif not folder.is_dir():
        message = (
            f"{location}: neither a folder nor an http or https URL; give the folder of the built "
            "site, or its address"
        )
        raise InputError(message)
    return partial(page_at, SourceFiles(folder), base_url)
