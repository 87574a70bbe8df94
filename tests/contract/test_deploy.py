"""The files of `scripts/deploy` name what exists; the tools that the machine has accept them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.api.server import SHUTDOWN_SECONDS
from app.settings import Settings
from tests.conftest import ROOT

FOLDER = ROOT / "scripts/deploy"
FILES = [path for path in FOLDER.iterdir() if path.suffix != ".md"]
GRACE = SHUTDOWN_SECONDS + 10


def text(name: str) -> str:
    return (FOLDER / name).read_text("utf-8")


def objects() -> dict[str, dict[str, Any]]:
    return {one["kind"]: one for one in yaml.safe_load_all(text("kubernetes.yaml"))}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_setting_exists(path: Path) -> None:
    named = set(re.findall(r"\bRAG_[A-Z_]+\b", path.read_text("utf-8")))
    assert named <= {f"RAG_{name.upper()}" for name in Settings.model_fields}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_file_stands_in_the_readme(path: Path) -> None:
    assert f"`{path.name}`" in text("README.md") or path.name == "Dockerfile.dockerignore"


def test_what_the_image_copies_exists() -> None:
    for line in re.findall(r"^COPY (?!--from)(.*) \S+$", text("Dockerfile"), re.M):
        for name in line.split():
            assert (ROOT / name).exists()
            assert f"!{name}" in text("Dockerfile.dockerignore").splitlines()


def test_answers_under_way_have_time_to_end() -> None:
    compose = yaml.safe_load(text("compose.yaml"))
    assert int(compose["services"]["rag"]["stop_grace_period"].rstrip("s")) >= GRACE
    pod = objects()["Deployment"]["spec"]["template"]["spec"]
    assert pod["terminationGracePeriodSeconds"] >= GRACE
    assert f"TimeoutStopSec={pod['terminationGracePeriodSeconds']}" in text("textbook-rag.service")


def test_only_the_proxy_has_ports_and_nothing_runs_with_rights() -> None:
    compose = yaml.safe_load(text("compose.yaml"))["services"]
    assert [name for name, one in compose.items() if "ports" in one] == ["proxy"]
    assert compose["rag"]["read_only"]
    (container,) = objects()["Deployment"]["spec"]["template"]["spec"]["containers"]
    assert container["securityContext"]["readOnlyRootFilesystem"]
    assert re.search(r"^USER 10001", text("Dockerfile"), re.M)


ACCEPTS: dict[str, list[str | Path]] = {
    "hadolint": [FOLDER / "Dockerfile"],
    "nginx": ["-t", "-c", "nginx.conf"],
    "caddy": ["validate", "--adapter", "caddyfile", "--config", FOLDER / "Caddyfile"],
    "systemd-analyze": ["verify", "textbook-rag.service"],
}


@pytest.mark.parametrize("tool", ACCEPTS)
def test_a_tool_accepts_its_file(tool: str, tmp_path: Path) -> None:
    found = shutil.which(tool, path=f"/usr/sbin:/sbin:{os.environ['PATH']}")
    if found is None:
        pytest.skip(f"needs {tool}")
    files = f"pid {tmp_path}/pid; error_log {tmp_path}/error.log;"
    included = f"access_log off; include {FOLDER}/nginx.conf;"
    (tmp_path / "nginx.conf").write_text(f"{files} events {{}} http {{ {included} }}")
    program = tmp_path / "textbook-rag"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    unit = text("textbook-rag.service").replace("/opt/textbook-rag/bin/textbook-rag", str(program))
    (tmp_path / "textbook-rag.service").write_text(unit)
    arguments = [
        tmp_path / one if isinstance(one, str) and "." in one else one for one in ACCEPTS[tool]
    ]
    done = subprocess.run([found, *arguments], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
