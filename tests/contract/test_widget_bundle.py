"""The widget's bundle: built from these sources, small, served for every site."""

import gzip
import json
import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import httpx
import pytest

from app.api.pages import WIDGET_FOLDER
from tests.serving import offline_settings, serving

BUNDLE = WIDGET_FOLDER / "bundle"
MAX_GZIPPED = 60_000
_PLACE = re.compile(r"\{\w+\}")
NOT_IN_SRC = ("build.mjs", "package-lock.json", "site.css")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(offline_settings(tmp_path_factory.mktemp("home"))) as served:
        yield served


def source_hash() -> str:
    """Return the hash that `app/widget/build.mjs` writes into the bundle."""
    files = [path for path in (WIDGET_FOLDER / "src").rglob("*") if path.is_file()]
    files += [WIDGET_FOLDER / name for name in NOT_IN_SRC]
    named = sorted((path.relative_to(WIDGET_FOLDER).as_posix(), path) for path in files)
    digest = sha256()
    for name, path in named:
        digest.update(f"{name}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


@pytest.mark.parametrize("name", ["widget.js", "site.js"])
def test_the_bundle_was_built_from_these_sources(name: str) -> None:
    first = (BUNDLE / name).read_text(encoding="utf-8").partition("\n")[0]
    assert f"sources {source_hash()} " in first, "run `npm ci && npm run build` in app/widget"


def test_every_language_has_every_text() -> None:
    folder = WIDGET_FOLDER / "src/texts"
    texts = {file.stem: json.loads(file.read_text("utf-8")) for file in folder.glob("*.json")}
    assert {"en", "de", "es", "fr", "ar", "ur", "zh", "hi"} <= set(texts)
    for named in texts.values():
        assert list(named) == list(texts["en"])
        for key, text in named.items():
            assert set(_PLACE.findall(text)) == set(_PLACE.findall(texts["en"][key]))


def test_the_lockfile_names_no_address() -> None:
    assert '"resolved"' not in (WIDGET_FOLDER / "package-lock.json").read_text(encoding="utf-8")


def test_the_script_is_small(address: str) -> None:
    for path in ("/widget.js", "/widget/widget.js"):
        with httpx.stream("GET", address + path, headers={"Accept-Encoding": "gzip"}) as response:
            body = b"".join(response.iter_raw())
        assert response.headers["content-encoding"] == "gzip"
        assert len(body) <= MAX_GZIPPED
        assert gzip.decompress(body) == (BUNDLE / "widget.js").read_bytes()


def test_every_site_may_load_the_files(address: str) -> None:
    for path in ("/widget.js", *(f"/widget/{file.name}" for file in BUNDLE.iterdir())):
        response = httpx.get(address + path, headers={"Origin": "https://book.example"})
        assert response.status_code == 200
        assert response.headers["access-control-allow-origin"] == "*"
        assert response.headers["cross-origin-resource-policy"] == "cross-origin"


def test_a_name_with_a_hash_is_cached_for_good_and_another_is_asked_for_again(address: str) -> None:
    chunks = [path.name for path in BUNDLE.iterdir() if re.search(r"-[A-Z0-9]{8}\.js$", path.name)]
    assert chunks
    for chunk in chunks:
        assert "immutable" in httpx.get(f"{address}/widget/{chunk}").headers["cache-control"]
    script = httpx.get(f"{address}/widget.js")
    assert script.headers["cache-control"] == "no-cache"
    again = httpx.get(f"{address}/widget.js", headers={"If-None-Match": script.headers["etag"]})
    assert again.status_code == 304
    assert not again.content


def test_the_script_names_the_chunks_that_are_there() -> None:
    script = (BUNDLE / "widget.js").read_text(encoding="utf-8")
    named = set(re.findall(r"[\w-]+-[A-Z0-9]{8}\.js", script))
    assert named == {path.name for path in BUNDLE.iterdir() if "-" in path.name}


@pytest.mark.parametrize("path", ["/widget/", "/widget/src", "/widget/package.json"])
def test_nothing_else_of_the_folder_is_served(address: str, path: str) -> None:
    response = httpx.get(address + path)
    assert response.status_code == 404
    assert Path(path).name not in response.headers.get("location", "")
