"""The documents name every setting, command, option, error code and module that there is."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import app.domain.errors as errors
from app.api.problems import status_and_detail
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
def test_every_error_code_stands_in_the_table_with_its_exit_code_and_status(
    error: type[RagError],
) -> None:
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
