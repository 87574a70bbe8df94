"""Fetching a site from its address: politely, only from public addresses, only what has changed."""

import asyncio
import gzip
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from app.adapters.reading.fetch_site import FetchedSite, fetch_site
from app.adapters.reading.polite_requests import is_public
from app.adapters.reading.site_pages import open_site_folder
from app.domain.errors import InputError, ProviderUnavailable
from app.services.phases import Phase, Phases, ignore
from tests.built_pages import links, page
from tests.command_line import Run
from tests.local_http import Handler, local_server

OWLS = {
    "/book/": page(
        links("eyes.html", "ears/", "/other/", "owl.png", "?q=owl", "mailto:a@b.example")
    ),
    "/book/eyes.html": page(links("../book/", "#top")),
    "/book/ears/": page(links("../eyes.html", "../beak")),
    "/book/beak": page(),
    "/other/": page(),
}


@dataclass
class Answer:
    """What the server sends: by default a page with an ETag, once asked for it 304."""

    body: bytes | str = ""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False
    """Whether the connection ends in the middle."""


@dataclass
class Server:
    """A site whose answers may be changed between requests; a list of answers is sent in turn."""

    answers: dict[str, Answer | list[Answer]] = field(
        default_factory=lambda: {path: Answer(html) for path, html in OWLS.items()}
    )
    address: str = ""
    requests: list[tuple[str, int]] = field(default_factory=list)
    agents: set[str] = field(default_factory=set)

    def asked(self, path: str) -> list[int]:
        return [status for one, status in self.requests if one == path]

    def answer(self, path: str) -> Answer:
        found = self.answers.get(path, Answer(status=404))
        if isinstance(found, Answer):
            return found
        return found.pop(0) if len(found) > 1 else found[0]


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as site:
        yield site


@contextmanager
def serving() -> Iterator[Server]:
    site = Server()

    class Page(Handler):
        def do_GET(self) -> None:
            answer = site.answer(self.path)
            body = answer.body.encode() if isinstance(answer.body, str) else answer.body
            etag = f'"{hash(body)}"'
            is_known = answer.status == 200 and self.headers["If-None-Match"] == etag
            status = 304 if is_known else answer.status
            site.requests.append((self.path, status))
            site.agents.add(self.headers["User-Agent"])
            sent = {"Content-Type": "text/html", "ETag": etag, **answer.headers}
            sent["Content-Length"] = "0" if is_known else str(len(body) + 10 * answer.cut)
            self.respond(status, sent, b"" if is_known else body)

    with local_server(Page) as http:
        site.address = http.url
        yield site


class Sleeps(list[float]):
    """Records the pauses without waiting."""

    async def __call__(self, seconds: float) -> None:
        self.append(seconds)


def fetch(server: Server, folder: Path, path: str = "/book/", **options: Any) -> FetchedSite:
    return fetch_from(f"{server.address}{path}", folder, allow_private=True, **options)


def fetch_from(
    address: str, folder: Path, report: Callable[[Phase], None] = ignore, **options: Any
) -> FetchedSite:
    options = {"sleep": Sleeps(), **options}
    return asyncio.run(fetch_site(address, folder, Phases(report), **options))


def stored(site: FetchedSite) -> list[str]:
    return sorted(str(one.relative_to(site.folder)) for one in site.folder.rglob("*.html"))


def test_links_below_the_address_are_fetched_into_a_folder_that_is_read_as_a_site(
    server: Server, tmp_path: Path
) -> None:
    told: list[tuple[str, int]] = []
    site = fetch(server, tmp_path, report=lambda one: told.append((one.name, one.done)))
    assert stored(site) == ["beak.html", "ears/index.html", "eyes.html", "index.html"]
    assert told == [("fetch", done) for done in (0, 1, 2, 3, 4, 4)]
    (opened,) = open_site_folder(site.folder, site.base_url)
    assert [one.url.removeprefix(server.address) for one in opened.pages] == [
        "/book/",
        "/book/eyes.html",
        "/book/ears/",
        "/book/beak",
    ]
    assert server.agents == {"textbook-rag"}
    assert not {"/other/", "/book/owl.png", "/book/?q=owl"} & {path for path, _ in server.requests}


def test_later_only_what_has_changed_is_sent_and_what_is_gone_is_deleted(
    server: Server, tmp_path: Path
) -> None:
    fetch(server, tmp_path)
    server.requests.clear()
    server.answers["/book/beak"] = Answer(page("<p>New</p>"))
    again = fetch(server, tmp_path)
    pages = [path for path in OWLS if path != "/other/"]
    assert [server.asked(path) for path in pages] == [[304], [304], [304], [200]]
    assert "New" in (again.folder / "beak.html").read_text()
    server.answers["/book/"] = Answer(page(links("eyes.html")))
    assert stored(fetch(server, tmp_path)) == ["eyes.html", "index.html"]
    server.answers["/book/eyes.html"] = Answer("", 500)
    assert "eyes.html" in stored(fetch(server, tmp_path))  # it may be there again tomorrow


def test_a_killed_run_is_continued(server: Server, tmp_path: Path) -> None:
    """The pages that it had stored are not asked for, even by servers without ETags."""

    class Killed(BaseException): ...

    def die(phase: Phase) -> None:
        if phase.done == 2:
            raise Killed

    with pytest.raises(Killed):
        fetch(server, tmp_path, report=die)
    done = {path for path, status in server.requests if status == 200} - {"/book/"}
    server.requests.clear()
    assert len(stored(fetch(server, tmp_path))) == 4
    assert done
    assert not done & {path for path, _ in server.requests}


def test_the_sitemap_is_taken_instead_of_links(server: Server, tmp_path: Path) -> None:
    """Also in parts, and where robots.txt names it; pages of other sites are not."""
    base = server.address
    listed = (f"{base}/book/beak", f"{base}/other/", "https://elsewhere.example/")
    urls = "".join(f"<url><loc>{one}</loc></url>" for one in listed)
    part = f"{base}/part.xml"
    server.answers |= {
        "/robots.txt": Answer(f"Sitemap: {base}/index.xml"),
        "/index.xml": Answer(f"<sitemapindex><sitemap><loc>{part}</loc></sitemap></sitemapindex>"),
        "/part.xml": Answer(f"<urlset>{urls}</urlset>"),
    }
    assert stored(fetch(server, tmp_path)) == ["beak.html", "index.html"]


def test_robots_txt_is_obeyed(server: Server, tmp_path: Path) -> None:
    rules = "User-agent: *\nDisallow: /book/ears/\nCrawl-delay: 7\n"
    server.answers["/robots.txt"] = Answer(rules)
    sleeps = Sleeps()
    site = fetch(server, tmp_path, sleep=sleeps)
    assert stored(site) == ["eyes.html", "index.html"]
    assert [*site.left_out] == ["disallowed by robots.txt"]
    assert server.asked("/book/ears/") == []
    assert sleeps[-1] == 7
    for refusal in ("Disallow: /", "Crawl-delay: 1e9"):
        server.answers["/robots.txt"] = Answer(f"User-agent: textbook-rag\n{refusal}\n")
        with pytest.raises(InputError, match=r"robots\.txt"):
            fetch(server, tmp_path)


def test_a_server_that_asks_for_time_gets_it(server: Server, tmp_path: Path) -> None:
    busy = Answer("slow down", 429, {"Retry-After": "42"})
    server.answers["/book/eyes.html"] = [busy, Answer(OWLS["/book/eyes.html"])]
    sleeps = Sleeps()
    assert "eyes.html" in stored(fetch(server, tmp_path, sleep=sleeps))
    assert 42 <= max(sleeps) < 43
    server.answers["/book/eyes.html"] = Answer("", 503, {"Retry-After": "86400"})
    with pytest.raises(ProviderUnavailable, match="86400 seconds"):
        fetch(server, tmp_path)


def test_redirects_are_followed_on_the_site_and_loops_end(server: Server, tmp_path: Path) -> None:
    server.answers |= {
        "/": Answer("", 302, {"Location": "/book/"}),
        "/book/eyes.html": Answer("", 301, {"Location": "/book/pupils"}),
        "/book/pupils": Answer(page()),
        "/book/ears/": Answer("", 302, {"Location": "/book/beak"}),
        "/book/beak": Answer("", 302, {"Location": "/book/ears/"}),
        "/book/?q=owl": Answer(page()),
    }
    site = fetch(server, tmp_path, "/")
    assert stored(site) == ["index.html", "pupils.html"]
    assert site.base_url == f"{server.address}/book"
    server.answers["/round"] = Answer("", 302, {"Location": "/round"})
    with pytest.raises(InputError, match="loop"):
        fetch(server, tmp_path, "/round")


def test_broken_and_slow_pages_are_named_and_others_read(server: Server, tmp_path: Path) -> None:
    server.answers |= {
        "/book/eyes.html": Answer("", 500),
        "/book/ears/": Answer(page(), cut=True),
        "/book/": Answer(page(links("eyes.html", "ears/", "beak", "data", "gone", "bomb"))),
        "/book/bomb": Answer(gzip.compress(b""), headers={"Content-Encoding": "gzip, gzip"}),
        "/book/data": Answer("{}", headers={"Content-Type": "application/json"}),
    }
    site = fetch(server, tmp_path)
    assert stored(site) == ["beak.html", "index.html"]
    assert server.asked("/book/eyes.html") == [500, 500, 500]
    reasons = {
        url.removeprefix(server.address): why for why, urls in site.left_out.items() for url in urls
    }
    assert reasons["/book/eyes.html"] == "answers 500"
    assert reasons["/book/data"] == "not HTML"
    assert reasons["/book/gone"] == "answers 404"
    assert reasons["/book/bomb"] == "compressed twice"
    assert "/book/ears/" in reasons


@pytest.mark.parametrize(
    ("bound", "most", "message"),
    [
        ("fetch_site.MAX_PAGES", 2, "more than 2 pages"),
        ("polite_requests.MAX_SITE_BYTES", 300, "more than 300 bytes"),
        ("fetch_site.MAX_BYTES", 1_000, r"eyes\.html.* more than the limit of 1,000 bytes"),
    ],
)
def test_a_site_and_a_page_are_bounded_also_when_unpacked(
    server: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    bound: str,
    most: int,
    message: str,
) -> None:
    monkeypatch.setattr(f"app.adapters.reading.{bound}", most)
    bomb = gzip.compress(page("x" * 100_000).encode())
    server.answers["/book/eyes.html"] = Answer(bomb, headers={"Content-Encoding": "gzip"})
    with pytest.raises(InputError, match=message):
        fetch(server, tmp_path)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "0x7f.1", "2130706433"])
def test_private_addresses_are_refused(server: Server, tmp_path: Path, host: str) -> None:
    port = server.address.rpartition(":")[2]
    address = f"http://{host}:{port}/book/"
    with pytest.raises(InputError, match="--allow-private"):
        fetch_from(address, tmp_path)
    assert server.requests == []


def test_a_redirect_to_a_private_address_is_refused(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving() as inner, public_at(server, monkeypatch):
        secret = f"{inner.address.replace('127.0.0.1', 'localhost')}/book/"
        server.answers["/book/"] = Answer("", 302, {"Location": secret})
        with pytest.raises(InputError, match="not public"):
            fetch_from("http://owls.example/book/", tmp_path)
        assert inner.requests == []


def test_the_address_that_was_checked_is_the_one_that_is_connected_to(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name is resolved once for each request, so rebinding it changes nothing."""
    with public_at(server, monkeypatch) as asked:
        found = fetch_from("http://owls.example/book/", tmp_path)
    assert len(stored(found)) == 4
    assert len(asked) == len(server.requests)


@contextmanager
def public_at(server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Let owls.example be a public address whose connections come to the server."""
    asked: list[str] = []
    port = int(server.address.rpartition(":")[2])
    resolve, connect = socket.getaddrinfo, asyncio.BaseEventLoop.create_connection

    def getaddrinfo(host: Any, *rest: Any, **named: Any) -> Any:
        if host == "owls.example":
            asked.append(host)
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.215.14", 80))]
        return resolve(host, *rest, **named)

    async def create_connection(loop: Any, factory: Any, host: Any, _: Any, **named: Any) -> Any:
        assert host == "93.184.215.14"
        return await connect(loop, factory, "127.0.0.1", port, **named)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    monkeypatch.setattr(asyncio.BaseEventLoop, "create_connection", create_connection)
    yield asked


PRIVATE = (
    "10.0.0.1 169.254.169.254 100.64.0.1 0.0.0.0 224.0.0.1 ::ffff:127.0.0.1 64:ff9b::7f00:1"
    " 2002:7f00:1:: fe80::1 fec0::1 fc00::1"
).split()


@pytest.mark.parametrize("address", ["93.184.215.14", "2606:4700::1111", *PRIVATE])
def test_public_addresses(address: str) -> None:
    assert is_public(address) is (address not in PRIVATE)


@pytest.mark.parametrize("address", ["ftp://owls.example/", "file:///etc/passwd", "owls.example"])
def test_only_web_addresses_are_fetched(tmp_path: Path, address: str) -> None:
    with pytest.raises(InputError, match="http"):
        fetch_from(address, tmp_path)


@pytest.mark.parametrize(
    "targets",
    [
        ("http://[x", "//[", "b%zz", "moved", "removed", "x" * 70_000, "a/" * 1_500),
        ("%2e%2e%2fout", "a%2f%2e%2e%2f%2e%2e%2fout", ".hidden", "a%00b"),
    ],
    ids=["no addresses", "names that lead out of the folder"],
)
def test_links_that_name_no_page_are_not_stored_and_do_not_end_the_run(
    server: Server, tmp_path: Path, targets: tuple[str, ...]
) -> None:
    server.answers |= {
        "/book/": Answer(page(links(*targets))),
        "/book/moved": Answer("", 302, {"Location": "http://[x"}),
        "/book/removed": Answer("", 302, {"Location": f"http://xn--{'a' * 300}/"}),
        f"/book/{'a/' * 1_500}": Answer(page()),
    }
    assert stored(fetch(server, tmp_path)) == ["index.html"]
    assert not (tmp_path / "out.html").exists()


def test_an_ingest_says_what_was_not_fetched(server: Server, run: Run) -> None:
    server.answers["/book/"] = Answer(page(links("eyes.html", "gone")))
    found = run("ingest", f"{server.address}/book/", "--allow-private", "--dry-run")
    assert found.code == 0
    assert f"not fetched: 1, as {server.address}/book/gone (answers 404)" in found.err
