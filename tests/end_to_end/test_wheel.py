"""The wheel, installed in an environment that has nothing but its dependencies."""

import json
import shutil
import socket
import subprocess
import sys
import sysconfig
import time
import urllib.request
import venv
from pathlib import Path
from typing import Any
from urllib.error import URLError

import pytest

from tests.command_line import write_files
from tests.conftest import ROOT
from tests.served_process import offline_environment

PIP = [sys.executable, "-m", "pip"]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command `textbook-rag` of the installed wheel."""
    source, folder = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("installed")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    ignored = shutil.ignore_patterns("node_modules", "__pycache__")
    shutil.copytree(ROOT / "app", source / "app", ignore=ignored)
    build = "wheel -q --no-deps --no-build-isolation -w dist .".split()
    subprocess.run([*PIP, *build], cwd=source, check=True)
    venv.create(folder)
    (wheel,) = (source / "dist").glob("*.whl")
    install = [*PIP, "--python", f"{folder}/bin/python", "install", "-q", "--no-deps", str(wheel)]
    subprocess.run(install, check=True)
    # Its dependencies, without the checkout: the .pth file of that in this folder is not read.
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return folder / "bin/textbook-rag"


@pytest.fixture
def outside(tmp_path: Path) -> dict[str, Any]:
    """A folder and an environment that know nothing of the checkout."""
    environment = offline_environment(tmp_path / "rag") | {"PYTHONPATH": ""}
    return {"cwd": tmp_path, "env": environment}


def test_it_ingests_and_answers_outside_the_checkout(
    program: Path, tmp_path: Path, outside: dict[str, Any]
) -> None:
    def run(*arguments: str) -> str:
        printed: str = subprocess.check_output([program, *arguments], text=True, **outside)
        return printed

    page = "# Owls\n\nOwls hunt small animals at night.\n"
    write_files(tmp_path / "owls", {"page.md": page})
    assert json.loads(run("ingest", "owls", "--json"))["chunks"] == 1
    answer = json.loads(run("ask", "When do owls hunt?", "--json"))
    assert answer["citations"][0]["quote"] == "Owls hunt small animals at night."
    assert str(ROOT) not in run("--version")


def test_the_demo_serves_the_sample_book_with_its_widget(
    program: Path, outside: dict[str, Any]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
    demo = subprocess.Popen([program, "demo", "--port", port], **outside)
    try:
        address = f"http://127.0.0.1:{port}"
        await_server(demo, f"{address}/readyz")
        for path in ("/", "/widget.js", "/v1/openapi.json", "/v1/books"):
            with urllib.request.urlopen(f"{address}{path}") as response:
                assert response.status == 200
    finally:
        demo.terminate()
        demo.wait(60)


def await_server(process: subprocess.Popen[bytes], url: str) -> None:
    while process.poll() is None:
        try:
            urllib.request.urlopen(url).close()
        except URLError:
            time.sleep(0.2)
        else:
            return
    pytest.fail(f"the server ended with {process.returncode}")
