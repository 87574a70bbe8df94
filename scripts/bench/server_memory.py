"""Memory of a process: its own, and mapped pages of files, which the system can reclaim."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Memory:
    """In KB."""

    own: int
    mapped: int

    def __str__(self) -> str:
        return f"{self.own / 1024:,.0f} MB own, {self.mapped / 1024:,.0f} MB mapped"

    def per(self, chunks: int) -> str:
        return f"{self.own / chunks:.2f} KB own, {self.mapped / chunks:.2f} KB mapped"


def memory_of(pid: int) -> Memory:
    lines = Path(f"/proc/{pid}/status").read_text("ascii").splitlines()
    sizes = {line.split(":")[0]: line.split()[1] for line in lines if line.startswith("Rss")}
    return Memory(int(sizes["RssAnon"]), int(sizes["RssFile"]))
