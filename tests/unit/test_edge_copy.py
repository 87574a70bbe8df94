from pathlib import Path

from app.adapters.qdrant.edge_copy import copy_if_needed


def test_a_file_that_another_process_removes_is_not_a_read_only_one(tmp_path: Path) -> None:
    (tmp_path / "segment").write_bytes(b"")
    (tmp_path / ".atomicwrite").symlink_to(tmp_path / "removed")

    assert copy_if_needed(tmp_path) is None
