"""Documents and the files of `scripts/deploy` name what there is, and tools accept the files."""

import ast
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import app.domain.errors as errors
from app.api.problems import status_and_detail
from app.api.security import CONVERSATION_BYTES, MAX_ARCHIVE_BYTES
from app.api.server import SHUTDOWN_SECONDS
from app.cli import COMMANDS as COMMAND_NAMES
from app.cli import loaded
from app.domain.errors import RagError
from app.settings import Settings, variable
from tests.conftest import ROOT

README = (ROOT / "README.md").read_text("utf-8")
COMMANDS = (ROOT / "specs/001-textbook-rag/commands.md").read_text("utf-8")
SPEC = (ROOT / "specs/001-textbook-rag/spec.md").read_text("utf-8")
ENVIRONMENT = (ROOT / ".env.example").read_text("utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
HOUSE = (ROOT / "specs/house.md").read_text("utf-8")
ERRORS = (ROOT / "specs/001-textbook-rag/contracts/errors.md").read_text("utf-8")


COMMANDS_BY_NAME = {name: loaded(name) for name in COMMAND_NAMES}


def test_the_lines_of_the_example_are_the_defaults_as_they_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(variable(name), raising=False)
    path = tmp_path / ".env"
    path.write_text(re.sub("^# (?=[A-Z_]+=)", "", ENVIRONMENT, flags=re.M), "utf-8")
    assert Settings(_env_file=path) == Settings(_env_file=None)


def test_the_example_names_no_setting_that_is_not_there() -> None:
    named = set(re.findall(r"^# ([A-Z][A-Z_]+)=", ENVIRONMENT, re.M))
    assert named == {variable(name) for name in Settings.model_fields}


@pytest.mark.parametrize("command", COMMANDS_BY_NAME)
def test_every_command_stands_in_its_table_and_the_specification(command: str) -> None:
    assert re.search(rf"^\|.*`{command}\b.*\|.*\|$", COMMANDS, re.M)
    assert f"`{command}`" in SPEC


def test_the_readme_is_short_and_its_links_lead_somewhere() -> None:
    assert len(README.split()) <= 900
    linked = re.findall(r"\]\(([^):]+)\)", README)
    assert [path for path in linked if not (ROOT / path).exists()] == []


def leaves(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    below = getattr(command, "commands", {})
    for part, one in below.items():
        yield from leaves(f"{name} {part}", one)
    if not below:
        yield name, command


LEAVES = dict(leaf for name, one in COMMANDS_BY_NAME.items() for leaf in leaves(name, one))


@pytest.mark.parametrize("name", LEAVES)
def test_every_command_explains_itself_and_its_options_stand_in_the_table(name: str) -> None:
    assert LEAVES[name].help
    for parameter in LEAVES[name].params:
        assert parameter.help, parameter
        if parameter.param_type_name == "option":
            row = re.search(rf"^\|.*`{name}\b.*$", COMMANDS, re.M)
            (option,) = parameter.opts
            assert row
            assert f"`{option}" in row[0] or option == "--json"


OPTIONS = {
    name: {one for parameter in LEAVES[name].params for one in parameter.opts} for name in LEAVES
}
DOCUMENTS = [
    *ROOT.glob("*.md"),
    *(ROOT / "specs").rglob("*.md"),
    ROOT / "tests/attacks/README.md",
]
in_every_document = pytest.mark.parametrize(
    "document", DOCUMENTS, ids=lambda document: str(document.relative_to(ROOT))
)


@in_every_document
def test_every_command_line_that_a_document_shows_is_understood(document: Path) -> None:
    shown = re.findall(
        r"(?:^|`)textbook-rag ((?:keys )?[a-z]+)([^`\n#]*)", document.read_text("utf-8"), re.M
    )
    for name, arguments in shown:
        assert {*re.findall(r"(?<!\S)--[a-z-]+", arguments)} <= OPTIONS[name], name


ERROR_CLASSES = [
    value
    for value in vars(errors).values()
    if isinstance(value, type) and issubclass(value, RagError)
]


@pytest.mark.parametrize("error", ERROR_CLASSES)
def test_every_error_stands_in_the_table_with_exit_code_and_status(error: type[RagError]) -> None:
    row = re.search(rf"^\| {error.code} \|.*\| (\S+) \| (\S+) \|$", ERRORS, re.M)
    assert row, f"{error.code} is missing"
    assert row[1] == str(error.exit_code)
    assert row[2] == str(status_and_detail(error.__new__(error))[0])


@in_every_document
def test_every_path_that_a_document_names_is_there(document: Path) -> None:
    named = re.findall(
        r"`((?:app|tests|scripts|specs)/[\w./-]*\w)", document.read_text(encoding="utf-8")
    )
    assert [path for path in named if not (ROOT / path).exists()] == []


@pytest.mark.parametrize(
    "package",
    ["domain", "domain/answering", "services"],
)
def test_the_docstring_of_a_large_package_names_each_of_its_modules(package: str) -> None:
    folder = ROOT / "app" / package
    docstring = ast.get_docstring(ast.parse((folder / "__init__.py").read_text("utf-8"))) or ""
    modules = {one.stem for one in folder.glob("[!_]*.py")}
    packages = {one.parent.name for one in folder.glob("*/__init__.py")}
    assert set(re.findall(r"`(\w+)`", docstring)) == modules | packages


def test_the_modules_that_contributing_and_the_house_name_exist() -> None:
    named = re.findall(r"`([\w/]+\.py)`", CONTRIBUTING + HOUSE)
    walks = re.findall(r"\b((?:cli|api|services|adapters|domain|answering)/[a-z_/]+)", HOUSE)
    for path in (*named, *(f"{one}*" for one in walks)):
        assert [*ROOT.glob(f"app/**/{path}"), *ROOT.glob(path)], f"{path} is not there"


# --- the files of `scripts/deploy`

FOLDER = ROOT / "scripts/deploy"
FILES = [path for path in FOLDER.iterdir() if path.suffix != ".md"]
GRACE = SHUTDOWN_SECONDS + 10


def text(name: str) -> str:
    return (FOLDER / name).read_text("utf-8")


def objects() -> dict[str, dict[str, Any]]:
    return {one["kind"]: one for one in yaml.safe_load_all(text("kubernetes.yaml"))}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_file_stands_in_the_readme_and_its_settings_exist(path: Path) -> None:
    named = set(re.findall(r"\bRAG_[A-Z_]+\b", path.read_text("utf-8")))
    assert named <= {variable(name) for name in Settings.model_fields}
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


@pytest.mark.parametrize("name", ["nginx.conf", "Caddyfile", "kubernetes.yaml"])
def test_a_proxy_takes_the_bodies_that_the_server_takes(name: str) -> None:
    sizes = re.findall(r"(?:max|body)[_-](?:body_)?size:? (\d+)(k|m|KiB|MiB)\b", text(name))
    taken = sorted(int(size) << {"k": 10, "m": 20}[unit[0].lower()] for size, unit in sizes)
    assert taken == [CONVERSATION_BYTES, MAX_ARCHIVE_BYTES]


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
