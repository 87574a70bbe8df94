"""The embedding cache gives back exactly what was put, across processes and crashes."""

from __future__ import annotations

import asyncio
import hashlib
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.adapters.sqlite.embedding_cache import SqliteEmbeddingCache
from app.domain.errors import StorageError
from app.domain.retrieval.query import Vector
from tests.conftest import ROOT
from tests.index_points import vector


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "embeddings.sqlite"


def put(path: Path, texts: list[str], vectors: list[Vector], model: str = "m") -> None:
    asyncio.run(SqliteEmbeddingCache(path).put(model, len(vectors[0]), texts, vectors))


def get(path: Path, texts: list[str], dimension: int = 2, model: str = "m") -> list[Vector | None]:
    return asyncio.run(SqliteEmbeddingCache(path).get(model, dimension, texts))


def test_vectors_come_back_in_the_order_asked_and_none_for_the_rest(path: Path) -> None:
    """More than one query holds."""
    texts = [f"text {number}" for number in range(1_700)]
    vectors = [vector(number, -number) for number in range(1_700)]
    put(path, texts, vectors)
    assert get(path, [*texts, "unknown", *texts]) == [*vectors, None, *vectors]
    assert get(path, []) == []


def test_a_vector_belongs_to_its_model_dimension_and_exact_text(path: Path) -> None:
    put(path, ["Text"], [vector(1, 2)])
    assert get(path, ["Text"]) == [vector(1, 2)]
    assert get(path, ["Text"], model="other") == [None]
    assert get(path, ["Text"], dimension=3) == [None]
    assert get(path, ["text", "Text ", "Te\u0301xt"]) == [None] * 3


@given(
    st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"])),
        st.lists(st.floats(width=32, allow_nan=False), min_size=3, max_size=3),
        max_size=5,
    )
)
@settings(max_examples=25, deadline=None)
def test_any_text_and_any_float32_survive_to_the_bit(
    tmp_path_factory: pytest.TempPathFactory, entries: dict[str, list[float]]
) -> None:
    path = tmp_path_factory.mktemp("cache") / "embeddings.sqlite"
    vectors = [vector(*values) for values in entries.values()]
    cache = SqliteEmbeddingCache(path)
    asyncio.run(cache.put("m", 3, list(entries), vectors))
    found = asyncio.run(cache.get("m", 3, list(entries)))
    assert [one.tobytes() for one in found if one] == [one.tobytes() for one in vectors]


WRITER = """
import asyncio, sys
from array import array
from contextlib import closing
from pathlib import Path
from app.adapters.sqlite.embedding_cache import SqliteEmbeddingCache

cache = SqliteEmbeddingCache(Path(sys.argv[1]))
for batch in range(20):
    texts = [f"{sys.argv[2]} {batch} {number}" for number in range(20)]
    asyncio.run(cache.put("m", 2, texts, [array("f", [batch, number]) for number in range(20)]))
"""


def test_two_processes_and_several_tasks_write_at_once(path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(path)]
    other = subprocess.Popen([*command, "other"], cwd=ROOT)
    cache = SqliteEmbeddingCache(path)

    async def ours() -> None:
        await asyncio.gather(*(cache.put("m", 2, [f"ours {n}"], [vector(n, n)]) for n in range(20)))

    asyncio.run(ours())
    assert other.wait(60) == 0
    texts = [f"other {b} {n}" for b in range(20) for n in range(20)]
    assert None not in get(path, [*texts, *(f"ours {n}" for n in range(20))])


def test_a_file_that_is_no_database_is_named_with_the_remedy(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"this is not a database file at all" * 200)
    for call in (lambda: get(path, ["a"]), lambda: put(path, ["a"], [vector(1)])):
        with pytest.raises(StorageError) as caught:
            call()
        assert str(path) in str(caught.value)
        assert "delete this file" in str(caught.value)
        assert "\n" not in str(caught.value)


def test_no_file_is_put_beside_a_cache_in_a_read_only_folder(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(path, ["a"], [vector(1)])
    monkeypatch.setattr("app.adapters.sqlite.file.os.access", lambda *_: False)
    with SqliteEmbeddingCache(path).reading() as connection:
        assert len([*connection.execute("SELECT * FROM vectors")]) == 1
        assert [*path.parent.iterdir()] == [path]


@pytest.mark.parametrize(
    "damage",
    [
        "x'00'",
        "zeroblob(16)",
        "cast(substr(vector, 1, 8) || x'0011223344556677' as blob)",
        "'text'",
        "null",
    ],
)
def test_a_vector_that_differs_from_its_checksum_is_missing(
    path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    put(path, ["a", "b"], [vector(1, 2), vector(3, 4)])
    with closing(sqlite3.connect(path)) as connection, connection:
        key = hashlib.sha256(b"m|2|search_document|a").digest()
        connection.execute(f"UPDATE vectors SET vector = {damage} WHERE key = ?", (key,))
    assert get(path, ["a", "b"]) == [None, vector(3, 4)]
    assert caplog.messages == ["cache.damaged"]
    (fault,) = asyncio.run(SqliteEmbeddingCache(path).faults())
    assert str(path) in fault
    assert "differ from their checksums: 1" in fault
