"""Settings: a wrong one is one clear line that names it; another process gets the same."""

import socket
from pathlib import Path

import pytest
from pydantic import SecretStr

from app.cli.serving import say_where
from app.settings import GivenPrice, Settings, variable
from tests.command_line import KEYS, Run


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("RAG_PORT", "0"),
        ("RAG_PRICES", "{"),
        ("RAG_PRICES.a.searches", '{"a": {"searches": -1}}'),
        ("RAG_PRICES.a.input", '{"a": {"input": 1}}'),
        ("RAG_OPEN", "perhaps"),
        ("RAG_SOLUTIONS", "magic"),
        ("RAG_BUDGET_DAY", "inf"),
        ("RAG_BUDGET_MONTH", "-1"),
        ("RAG_CONTEXT_TOKENS", "0"),
        ("RAG_QUESTION_LOG_DAYS", "1000000"),
        ("RAG_OPENAI_BASE_URL", "http://127.0.0.1:99999"),
        ("RAG_OPENAI_BASE_URL", "http://[::1"),
        ("RAG_COHERE_BASE_URL", "ftp://host.example"),
        ("QDRANT_URL", "http://127.0.0.1:99999"),
        ("QDRANT_URL", "ftp://host.example"),
        ("QDRANT_URL", "http://"),
        ("QDRANT_URL", "http://a.example:6333, http://[::1"),
        ("QDRANT_URL", " , "),
        ("RAG_HOME", "/dev/null"),
        ("RAG_ALLOWED_ORIGINS", "https://*.book.example"),
        ("RAG_TRUSTED_PROXIES", "*"),
        ("RAG_TRUSTED_PROXIES", "127.0.0.1, localhost"),
        ("RAG_TRUSTED_PROXIES", "10.0.0.1/8"),
        ("RAG_TRUSTED_PROXIES", "1.2.3.4;5.6.7.8"),
    ],
)
def test_a_wrong_setting_is_named_as_it_is_set(run: Run, name: str, value: str) -> None:
    refused = run("books", **{name.split(".", maxsplit=1)[0]: value})
    assert refused.refusal().startswith(f"textbook-rag: {name}: ")
    assert refused.err.count("\n") == 1


def test_a_password_in_a_wrong_address_is_not_shown(run: Run) -> None:
    result = run("books", QDRANT_URL="http://user:secret@host.example:99999")
    assert "host.example:99999" in result.refusal()
    assert "secret" not in result.err


@pytest.mark.parametrize(
    "environment",
    [
        {"RAG_HOST": "garbage"},
        {"QDRANT_API_KEY": "kéy", "QDRANT_URL": "http://127.0.0.1:9"},
    ],
    ids=lambda one: next(iter(one)),
)
def test_a_wrong_setting_of_a_server_is_named(run: Run, environment: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
    refused = run("serve", "--port", port, RAG_QUESTION_LOG_DAYS="90", **environment)
    assert next(iter(environment)) in refused.refusal()


def test_an_empty_setting_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*map(variable, Settings.model_fields), *KEYS):
        monkeypatch.delenv(name, raising=False)
    plain = Settings(_env_file=None)
    for name in ("CO_API_KEY", "RAG_HOST", "RAG_PORT", "RAG_OPENAI_MODEL", "RAG_BUDGET_DAY"):
        monkeypatch.setenv(name, " ")
    assert Settings(_env_file=None) == plain
    monkeypatch.setenv("RAG_OPENAI_MODEL", " qwen3\r")
    assert Settings(_env_file=None).openai_model == "qwen3"


def test_a_misspelled_setting_is_reported(run: Run, home: Path) -> None:
    lines = ["rag_refusal_treshold=0.2", "QDRANT_URI=x", "# RAG_PORT 1", "", "RAG_PORT: 8000"]
    lines += ['"RAG_PORT=80', 'RAG_HOST="::1"', "export RAG_HOME='/srv"]
    (home / ".env").write_text("\n".join(lines), "utf-8-sig")
    result, mark = run("books", RAG_SOMETHING_ELSE="1", RAG_HOST="::1"), "textbook-rag: warning: "
    assert result.code == 0
    assert [one.removeprefix(mark) for one in result.err.splitlines() if mark in one] == [
        "QDRANT_URI is not a setting; did you mean QDRANT_URL?",
        "RAG_REFUSAL_TRESHOLD is not a setting; did you mean RAG_REFUSAL_THRESHOLD?",
        "RAG_SOMETHING_ELSE is not a setting; see .env.example",
        *(f".env:{line}: sets nothing: write RAG_PORT=value" for line in (5, 6)),
        ".env:8: sets nothing: write RAG_HOME=value",
    ]


@pytest.mark.parametrize(
    ("host", "family"), [("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6)]
)
def test_a_taken_port_is_one_line(run: Run, host: str, family: socket.AddressFamily) -> None:
    try:
        taken = socket.create_server((host, 0), family=family)
    except OSError:
        pytest.skip(f"needs {host}")
    with taken:
        port = taken.getsockname()[1]
        result = run("serve", "--port", str(port), RAG_HOST=host)
    assert f"{host}:{port} (Address already in use" in result.refusal()
    assert "--port" in result.refusal()
    assert result.err.count("\n") == 1


@pytest.mark.parametrize(
    ("host", "address"), [("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "127.0.0.1"), ("::1", "[::1]")]
)
def test_on_a_terminal_serve_says_what_to_open(
    host: str, address: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = Settings(_env_file=None, host=host, port=8001)
    say_where(settings)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    say_where(settings)
    assert capsys.readouterr().err == f"Open http://{address}:8001 (Ctrl+C stops)\n"


def test_a_child_reads_the_same_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Also where its environment or `.env` says otherwise."""
    given = Settings(
        _env_file=None,
        home=tmp_path,
        cohere_api_key=SecretStr("secret"),
        qdrant_url=None,
        prices={"small": GivenPrice(input_tokens=0.5)},
        open=True,
        budget_day=None,
    )
    monkeypatch.chdir(tmp_path)
    Path(".env").write_text("RAG_BUDGET_DAY=3\nQDRANT_URL=http://other\nCOHERE_API_KEY=other\n")
    monkeypatch.setenv("RAG_PORT", "9")
    for name, value in given.as_environment().items():
        monkeypatch.setenv(name, value)
    assert Settings() == given
