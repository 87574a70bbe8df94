"""Each page and book of `attacks/bombs.jsonl` is read or refused as its line says."""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from app.bootstrap.books import chunking_config
from app.domain.document import Document, Site
from app.domain.errors import InputError
from tests.attacking import filled, table
from tests.markdown_pages import read_folder, read_text

pytestmark = pytest.mark.attack

BOMBS = table("bombs")


@pytest.mark.parametrize("bomb", BOMBS, ids=lambda bomb: bomb["name"])
def test_a_bomb_is_read_or_refused_by_name(bomb: dict[str, Any], tmp_path: Path) -> None:
    repeat = bomb.get("repeat", {})
    refused = f"{bomb['refused']}*" if "refused" in bomb else ""
    for name, text in bomb.get("files", {}).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(filled(text, repeat), encoding="utf-8")
    for site in map(Site, bomb.get("sites", Site)):
        try:
            pages = _read(filled(bomb["page"], repeat) if "page" in bomb else tmp_path, site)
        except InputError as error:
            told = re.sub(r":\d+: ", ": ", str(error), count=1)
        else:
            told = ""
            assert pages
            assert not any(page.unread() for page in pages)
        assert fnmatchcase(told, refused), site


def _read(source: str | Path, site: Site) -> Sequence[Document]:
    if isinstance(source, Path):
        chunking_config(source)
        return read_folder(source, site=site).documents
    return [read_text(source, site=site, file=f"page.{'mdx' if site is Site.DOCUSAURUS else 'md'}")]
