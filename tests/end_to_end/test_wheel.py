"""The built package alone: nothing of the checkout is read."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.command_line import KEYS
from tests.conftest import ROOT


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel's files in a folder of their own."""
    source, folder = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("installed")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    ignored = shutil.ignore_patterns("node_modules", "__pycache__")
    shutil.copytree(ROOT / "app", source / "app", ignore=ignored)
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "-w", source / "dist", source], check=True)
    (wheel,) = (source / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def test_it_ingests_and_answers_outside_the_checkout(installed: Path, tmp_path: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if name not in KEYS}
    fixed = {"PYTHONPATH": str(installed), "RAG_HOME": str(tmp_path / "rag")}

    def run(*arguments: str) -> str:
        command = [sys.executable, "-m", "app.cli", *arguments]
        done = subprocess.run(
            command, cwd=tmp_path, env={**kept, **fixed}, capture_output=True, text=True, check=True
        )
        return done.stdout

    run("demo", "--no-serve")
    answer = json.loads(run("ask", "What is an inverted index?", "--json"))
    assert answer["citations"]
    for name in (
        "app/widget/bundle/widget.js",
        "app/widget/books.html",
        "app/api/protocols/mcp.py",
    ):
        assert (installed / name).is_file()
    assert not (installed / "tests").exists()
    assert not list(installed.glob("app/widget/**/node_modules"))
