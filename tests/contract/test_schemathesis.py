"""Schemathesis asks every operation of the OpenAPI description what it allows and what it does not:
no server error, no status and no body that the description does not have.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.serving import offline_settings, serving

pytestmark = pytest.mark.timeout(600)

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
)


def test_every_answer_to_any_request_is_in_the_description(owl_home: Path, tmp_path: Path) -> None:
    home = Path(shutil.copytree(owl_home, tmp_path / "rag"))
    settings = offline_settings(home, questions_per_minute=0)
    with serving(settings) as address:
        command = [
            *(sys.executable, "-c", "from schemathesis.cli import schemathesis; schemathesis()"),
            *("run", f"{address}/v1/openapi.json"),
            *("--checks", ",".join(CHECKS)),
            *("--phases", "examples,coverage,fuzzing"),
            *("--max-examples", "5", "--generation-deterministic", "--no-color"),
            *("--suppress-health-check", "all"),
        ]
        result = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, timeout=540, check=False
        )
    assert result.returncode == 0, result.stdout[-6_000:] + result.stderr[-2_000:]
    generated = re.search(r"(\d+) generated, (\d+) passed", result.stdout)
    assert generated
    assert generated[1] == generated[2]
    assert int(generated[1]) > 300
