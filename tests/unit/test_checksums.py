"""The hash of a generation's file: that of its bytes up to the last one that is not zero."""

from __future__ import annotations

from pathlib import Path

import pytest
import xxhash

from app.adapters.qdrant.checksums import BLOCK, Checksum


@pytest.mark.parametrize("hole", [False, True])
@pytest.mark.parametrize("zeros", [0, 1, 1_023, 1_024, BLOCK - 2, BLOCK - 1, BLOCK, 3 * BLOCK + 7])
@pytest.mark.parametrize("written", [b"", b"a", b"a\0b", b"\0" * BLOCK + b"a", b"a" * (BLOCK + 1)])
def test_zeros_at_the_end_are_not_hashed_and_all_else_is(
    tmp_path: Path, written: bytes, zeros: int, hole: bool
) -> None:
    path = tmp_path / "page.dat"
    with path.open("wb") as file:
        file.write(written)
        if not hole:
            file.write(bytes(zeros))
        file.truncate(len(written) + zeros)
    expected = Checksum(len(written) + zeros, xxhash.xxh3_128_hexdigest(written))
    assert Checksum.of(path) == expected
