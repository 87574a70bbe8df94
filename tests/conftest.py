"""Fixtures that every test may use."""

import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from grpc import aio
from hypothesis import HealthCheck, settings

from app.bootstrap import home_server
from tests.command_line import LAMPS, Run, runner, write_files
from tests.index_points import quick_folder

# A property holds or not, however busy the machine is, and one commit has one verdict: new examples
# are searched for by `pytest --hypothesis-profile=wide`, and what it finds becomes a test.
settings.register_profile(
    "wide", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.register_profile("any machine", settings.get_profile("wide"), derandomize=True)
settings.register_profile("long", settings.get_profile("wide"), max_examples=3_000)
settings.register_profile("quick", settings.get_profile("any machine"), max_examples=20)
settings.load_profile("any machine")

pytest_plugins = ["tests.selection", "tests.owl_server"]

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session", autouse=True)
def _no_model_server_of_this_machine() -> Iterator[None]:
    """Answers do not depend on what else runs where the tests do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(home_server, "PORTS", ())
        yield


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Return the loop of async tests, which is the program's own."""
    return "asyncio"


@pytest.fixture(scope="module")
async def loop_of_grpc(anyio_backend: str) -> AsyncIterator[None]:
    """Run the tests of a module in one event loop, closed after all of gRPC's calls have ended.

    A call that a test cancelled ends later, in the loop that sent it. If that is closed, gRPC
    raises an error in the loop of another test. One last call ends after all others.
    """
    yield
    server = aio.server()
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        call: Any = channel.unary_unary("/no/service")
        with pytest.raises(aio.AioRpcError):
            await call(b"")
    await server.stop(None)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of real books and question sets, which the repository does not hold."""
    folder = Path(os.environ.get("RAG_TEST_DATA", ROOT.parent / "shared/data"))
    if not folder.is_dir():
        pytest.skip("needs the development books in ../shared/data, or RAG_TEST_DATA=folder")
    return folder


@pytest.fixture(scope="session")
def sample_book() -> Path:
    """Return the folder of the book that ships with the program."""
    return ROOT / "app" / "sample_book"


@pytest.fixture
def home() -> Iterator[Path]:
    """Return a folder for local state, on a quick disk where there is one."""
    with quick_folder() as folder:
        yield folder


@pytest.fixture
def disk(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """Return a tmpfs of so many MB, where that is allowed."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={request.param}m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("needs a root user that may mount")
    try:
        yield folder
    finally:
        os.chdir("/")
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture
def run(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return the command line, with `home` for its state."""
    return runner(home, monkeypatch, capsys)


@pytest.fixture
def tiny(home: Path) -> Path:
    """Return the folder of a book of two pages."""
    return write_files(home / "tiny", LAMPS)
