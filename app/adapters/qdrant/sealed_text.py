"""Small text files whose first line is the SHA-256 of the rest."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from app.domain.errors import IndexUnreadable


def write_sealed(path: Path, text: str) -> None:
    """Write durably; the name is durable only after `sync_folder`."""
    with path.open("w", encoding="utf-8") as file:
        file.write(f"{_digest(text)}\n{text}")
        file.flush()
        os.fsync(file.fileno())


def read_sealed(path: Path) -> str:
    """Return the text. IndexUnreadable unless `write_sealed` wrote the file; OSError."""
    seal, _, text = path.read_bytes().partition(b"\n")
    try:
        content = text.decode()
    except UnicodeDecodeError:
        content = ""
    if seal != _digest(content).encode():
        message = f"{path}: damaged"
        raise IndexUnreadable(message)
    return content


def sync_folder(folder: Path) -> None:
    """Make renames in this folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
