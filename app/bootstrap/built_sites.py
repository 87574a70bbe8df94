"""Opens a built site, to check links on it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx

from app.adapters.reading.built_site import FolderSite, WebSite
from app.adapters.reading.source_files import SourceFiles
from app.domain.errors import InputError
from app.domain.urls import checked_base_url
from app.services.check_links import BuiltSite


@asynccontextmanager
async def built_site(location: str, base_url: str) -> AsyncIterator[BuiltSite]:
    """Open a site at a URL or in a folder. InputError if it is neither."""
    folder = Path(location)
    if "://" in location:
        async with httpx.AsyncClient() as client:
            yield WebSite(client, checked_base_url(location), base_url)
    elif await asyncio.to_thread(folder.is_dir):
        yield FolderSite(SourceFiles(folder), base_url)
    else:
        message = (
            f"{location}: neither a folder nor an http or https URL; give the folder of the built "
            "site, or its address"
        )
        raise InputError(message)
