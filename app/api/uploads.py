"""Writes the body of an upload to a file while it arrives."""

from __future__ import annotations

import asyncio
from pathlib import Path

from fastapi import HTTPException, Request

CHUNK_SECONDS = 30.0
"""Time limit for the next part of the body."""


async def store_body(request: Request, path: Path, max_bytes: int) -> Path | None:
    """Write the body to the file; return None if the body is empty.

    HTTPException 413 if it is too large, 408 if it is too slow; ClientDisconnect.
    """
    claimed = request.headers.get("content-length", "0")
    left = max_bytes
    if not claimed.isdecimal() or len(claimed) > 18 or int(claimed) > left:
        raise _too_large(max_bytes)
    parts = request.stream()
    with path.open("wb") as file:
        while True:
            try:
                part = await asyncio.wait_for(anext(parts, None), CHUNK_SECONDS)
            except TimeoutError:
                detail = f"no part of the body arrived within {CHUNK_SECONDS:g} s"
                raise HTTPException(408, detail, {"Connection": "close"}) from None
            if part is None:
                break
            left -= len(part)
            if left < 0:
                raise _too_large(max_bytes)
            await asyncio.to_thread(file.write, part)
    return path if left < max_bytes else None


def _too_large(max_bytes: int) -> HTTPException:
    detail = f"the archive is larger than {max_bytes:,} bytes (RAG_UPLOAD_MB)"
    return HTTPException(413, detail, {"Connection": "close"})
