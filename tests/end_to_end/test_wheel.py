"""The wheel, installed in an environment that has nothing but its dependencies."""

import json
import shutil
import socket
import subprocess
import sys
import sysconfig
import time
import venv
from pathlib import Path

import httpx
import pytest

from tests.command_line import write_files
from tests.conftest import ROOT
from tests.served_process import offline_environment

PIP = [sys.executable, "-m", "pip"]


@pytest.fixture
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


def test_it_ingests_and_serves_outside_the_checkout(program: Path, tmp_path: Path) -> None:
    """In a folder and an environment that know nothing of it."""
    environment = offline_environment(tmp_path / "rag") | {"PYTHONPATH": ""}
    page = "# Owls\n\nOwls hunt small animals at night.\n"
    write_files(tmp_path / "owls", {"page.md": page})
    ingest = (program, "ingest", "owls", "--json")
    printed = subprocess.check_output(ingest, text=True, cwd=tmp_path, env=environment)
    assert json.loads(printed)["chunks"] == 1
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
    demo = subprocess.Popen([program, "demo", "--port", port], cwd=tmp_path, env=environment)
    try:
        address = f"http://127.0.0.1:{port}"
        await_server(demo, f"{address}/readyz")
        for path in ("/", "/widget.js", "/v1/openapi.json"):
            httpx.get(f"{address}{path}").raise_for_status()
        books = httpx.get(f"{address}/v1/books").json()["books"]
        assert {one["book"] for one in books} == {"owls", "small-book-of-search"}
        asked = {"question": "When do owls hunt?", "book": "owls"}
        answer = httpx.post(f"{address}/v1/chat", json=asked).json()
        assert answer["citations"][0]["quote"] == "Owls hunt small animals at night."
    finally:
        demo.terminate()
        demo.wait(60)


def await_server(process: subprocess.Popen[bytes], url: str) -> None:
    while process.poll() is None:
        try:
            httpx.get(url)
        except httpx.ConnectError:
            time.sleep(0.2)
        else:
            return
    pytest.fail(f"the server ended with {process.returncode}")
