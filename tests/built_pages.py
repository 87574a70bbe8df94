"""Writes built pages, as site generators make them, into a folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

BASE = "https://owls.example/book/"


def write_site(folder: Path, pages: Mapping[str, str]) -> Path:
    for file, html in pages.items():
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(html, "utf-8")
    return folder


def page(body: str = "<p>Owls.</p>", head: str = "", title: str = "", lang: str = "en") -> str:
    return (
        f'<!doctype html><html lang="{lang}"><head><meta charset="utf-8"><title>{title}</title>'
        f"{head}</head><body>{body}</body></html>"
    )


def canonical(path: str, base: str = BASE) -> str:
    return f'<link rel="canonical" href="{base}{path}">'


def links(*targets: str) -> str:
    return "".join(f'<p><a href="{target}">{target}</a></p>' for target in targets)


def item(title: str, href: str, inside: str = "") -> str:
    nested = f"<ul>{inside}</ul>" if inside else ""
    return f'<li><a href="{href}">{title}</a>{nested}</li>'
