"""Jupyter notebooks as pages: what is read of one, on which sites, and what is refused."""

import json
from pathlib import Path

import pytest

from app.adapters.reading.notebook import markdown_of
from app.domain.errors import FileRefused
from app.domain.reading_budget import BUDGET
from tests.command_line import write_files
from tests.markdown_pages import read_folder

PYTHON = {"kernelspec": {"name": "python3", "language": "python"}}


def cell(kind: str, source: object, *outputs: object, **metadata: object) -> dict[str, object]:
    return {"cell_type": kind, "source": source, "metadata": metadata, "outputs": outputs}


def notebook(*cells: object, **metadata: object) -> str:
    return json.dumps({"nbformat": 4, "metadata": metadata or PYTHON, "cells": cells})


def markdown(text: str) -> str:
    return markdown_of(text.encode(), "a.ipynb")


OWLS = notebook(
    cell("markdown", ["# Owls\n", "\n", "Owls hunt at night."]),
    cell("code", "owls = count()\nowls", {"text": "7 owls"}, tags=["hide-input"]),
    cell("raw", "\\newpage"),
    cell("markdown", "## Long Ears\n\nThey hear a mouse under snow."),
)


IN, OUT = "```python\nx\n```", "```\n7\n```"


@pytest.mark.parametrize(
    ("cells", "read"),
    [
        ([cell("code", "x", tags=["remove-cell"])], ""),
        ([cell("code", "x", tags=["remove_input"])], ""),
        ([cell("markdown", "x", tags=["remove-cell"])], ""),
        ([cell("markdown", "x", tags=["remove-input"])], "x"),
        ([cell("raw", "<b>x</b>", raw_mimetype="text/html")], ""),
        ([cell("code", " \n")], ""),
        ([cell("code", "f'''\n```\n````\n'''")], "`````python\nf'''\n```\n````\n'''\n`````"),
        ([cell("markdown", "\n\nx\n\n"), cell("markdown", "y")], "x\n\ny"),
        ([cell("unknown", "x"), cell("markdown", "x")], "x"),
        ([cell("code", "x", {"text": "7\n"}, {"text": ["8\n"]})], f"{IN}\n\n```\n7\n8\n```"),
        ([cell("code", "x", {"data": {"text/plain": ["7"]}})], f"{IN}\n\n{OUT}"),
        ([cell("code", "x", {"data": {"text/plain": "<F>", "image/png": "aa"}})], IN),
        ([cell("code", "x", {"text": "\x1b[31m7\x1b[0m"}, tags=["remove-input"])], OUT),
        ([cell("code", "x", {"text": "7"}, tags=["remove-output"])], IN),
        ([cell("code", "x", {"ename": "E", "evalue": "e", "traceback": ["t"]})], IN),
    ],
)
def test_what_is_read_of_a_cell(cells: list[object], read: str) -> None:
    assert markdown(notebook(*cells)) == f"{read}\n"


@pytest.mark.parametrize(
    ("metadata", "language"),
    [
        ({"kernelspec": {"language": "R"}, "language_info": {"name": "r"}}, "r"),
        ({"language_info": {"name": "julia"}}, "julia"),
        ({"kernelspec": {"language": "C++17"}}, "c++17"),
        ({"kernelspec": {"language": "a b\n```"}}, ""),
    ],
)
def test_the_language_of_code_is_the_kernels(metadata: dict[str, object], language: str) -> None:
    assert markdown(notebook(cell("code", "x"), **metadata)) == f"```{language}\nx\n```\n"


INVALID = "no Jupyter notebook (Invalid JSON: "


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b'{"cells": [\n}', f"{INVALID}expected value at line 2"),
        (b'{"cells": [\n"\xff"]}', f"{INVALID}invalid unicode"),
        (b'{"cells": {}}', "no Jupyter notebook (cells: Input should be a valid "),
        (b'{"cells": [{"cell_type": "code", "source": 7}]}', "no Jupyter notebook (cells.0.source"),
        (b"[]", "no Jupyter notebook (Input should be an object): clear its outputs"),
        (b"[" * 100_000, f"{INVALID}recursion limit exceeded"),
        (b"{}," * (BUDGET.brackets + 1), "over 1,000,000 lists and objects in its JSON: clear"),
    ],
)
def test_what_is_no_notebook_is_refused_in_one_line(data: bytes, problem: str) -> None:
    with pytest.raises(FileRefused) as refused:
        markdown_of(data, "a.ipynb")
    assert str(refused.value).startswith(f"a.ipynb: {problem}")
    assert "\n" not in str(refused.value)


def test_a_notebook_of_format_3_is_read() -> None:
    code = {"cell_type": "code", "input": "x", "outputs": [{"text": "7"}]}
    old = json.dumps({"nbformat": 3, "worksheets": [{"cells": [code]}]})
    assert markdown(old) == f"{IN}\n\n{OUT}\n"


def test_a_new_notebook_is_empty() -> None:
    assert markdown("").strip() == markdown(notebook()).strip() == ""


def test_a_book_with_a_broken_notebook_is_refused(tmp_path: Path) -> None:
    problem = r"^b\.ipynb: no Jupyter notebook \(Invalid JSON: EOF"
    with pytest.raises(FileRefused, match=problem):
        read_folder(write_files(tmp_path, {"a.ipynb": OWLS, "b.ipynb": OWLS[:-1]}))


def test_a_notebook_alone_is_a_book_whose_spans_count_in_its_markdown(tmp_path: Path) -> None:
    (tmp_path / "owls.ipynb").write_text(OWLS)
    read = read_folder(tmp_path / "owls.ipynb")
    (page,) = read.documents
    assert (read.id, read.title, page.source) == ("owls", "Owls", markdown(OWLS))
    assert [page.source[block.start : block.end] for block in page.blocks] == [
        "# Owls",
        "Owls hunt at night.",
        "```python\nowls = count()\nowls\n```",
        "```\n7 owls\n```",
        "## Long Ears",
        "They hear a mouse under snow.",
    ]


@pytest.mark.parametrize(
    ("files", "url"),
    [
        ({"_toc.yml": "root: intro\nchapters:\n- file: owls\n"}, "/owls.html#long-ears"),
        ({"myst.yml": "project: {}\n"}, "/owls#long-ears"),
        ({"mkdocs.yml": "nav: [intro.md, owls.ipynb]\n"}, "/owls/#long-ears"),
        ({"mkdocs.yml": "plugins: {mkdocs-jupyter: {}}\n"}, "/owls/#long-ears"),
        ({}, "/owls.html#long-ears"),
    ],
)
def test_the_sites_on_which_a_notebook_is_a_page(
    files: dict[str, str], url: str, tmp_path: Path
) -> None:
    read = read_folder(
        write_files(tmp_path, {"intro.md": "# Birds\n", "owls.ipynb": OWLS, **files})
    )
    [page] = [page for page in read.documents if page.file == "owls.ipynb"]
    assert (page.blocks[-1].url, read.warnings) == (url, ())


def test_a_notebook_beside_its_markdown_is_read_once(tmp_path: Path) -> None:
    read = read_folder(write_files(tmp_path, {"owls.md": "# Owls\n", "owls.ipynb": OWLS}))
    assert [page.file for page in read.documents] == ["owls.md"]
