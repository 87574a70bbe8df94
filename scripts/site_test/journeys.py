"""Use the widget as readers do: `python scripts/site_test/journeys.py SITE SERVER PICTURES`.

SITE is the sample book's site, built with the plugin for SERVER. Each journey checks what
the reader must find and leaves pictures in the folder PICTURES, for people to look at.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.browsing import ARGUMENTS, CHROMIUM, CITED
from tests.openai_double import OpenAIDouble, quote_sources
from tests.static_site import static_site

_PORT = int(os.environ.get("SITE_TEST_JOURNEYS_PORT", "8794"))
_PIECE_SECONDS = 0.3
_DESKTOP: dict[str, Any] = {"viewport": {"width": 1280, "height": 800}}
_PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 780},
    "is_mobile": True,
    "has_touch": True,
    "device_scale_factor": 2,
}
_RANKING = "/docs/ranking-bm25"


@dataclass
class Reader:
    """A reader with a browser of their own on the book's site."""

    context: BrowserContext
    page: Page
    site: str
    pictures: Path
    name: str
    shots: int = 0

    def open(self, path: str = _RANKING) -> None:
        self.page.goto(self.site + path)
        self.page.locator("textbook-rag .tbr-launch").wait_for()
        self.page.wait_for_load_state("networkidle")

    def ask(self, question: str) -> None:
        field = self.page.locator("textbook-rag textarea")
        if not field.is_visible():
            self.page.keyboard.press("Control+i")
        field.fill(question)
        field.press("Enter")
        self.page.locator(".tbr-question", has_text=question).last.wait_for()
        self.finished()

    def finished(self) -> None:
        expect(self.page.locator(".tbr-pending")).to_have_count(0, timeout=60_000)
        self.page.locator(".tbr-actions").last.wait_for()

    def landed(self) -> None:
        expect(self.page.locator(CITED).first).to_be_in_viewport(timeout=15_000)

    def shot(self, what: str) -> None:
        self.page.wait_for_timeout(500)  # the picture shows the end of every animation
        self.shots += 1
        name = f"{self.name}-{self.shots}-{what}.png".replace(" ", "-")
        self.page.screenshot(path=self.pictures / name)


# --- on a desktop -------------------------------------------------------------------------------


def ask_click_back_follow_up(reader: Reader) -> None:
    page = reader.page
    reader.open("/docs/why-search")
    reader.ask("How is BM25 computed?")
    reader.shot("answer")
    page.locator(".tbr-passage .tbr-section").first.click()
    expect(page).to_have_url(re.compile(_RANKING))
    reader.landed()
    reader.shot("landed")
    page.go_back()
    expect(page.locator(".tbr-question")).to_have_text("How is BM25 computed?")
    expect(page.locator(CITED)).to_have_count(0)
    page.locator(".tbr-follow-up").first.click()
    expect(page.locator(".tbr-question")).to_have_count(2)
    reader.finished()
    reader.shot("follow-up")


def ask_about_a_selection(reader: Reader) -> None:
    page = reader.page
    reader.open()
    page.locator("article p").first.select_text()
    reader.shot("selected")
    page.get_by_role("button", name="Ask about this").click()
    reader.shot("panel")
    page.get_by_role("button", name="Explain this").click()
    reader.finished()
    reader.shot("explained")


def ask_about_what_is_pointed_at(reader: Reader) -> None:
    page = reader.page
    reader.open()
    button = page.locator(".tbr-at-block")
    for selector in ("pre", ".katex-display", "table"):
        page.locator(f"article {selector}").first.scroll_into_view_if_needed()
        page.locator(f"article {selector}").first.hover()
        expect(button).to_have_text("Ask about this")
        reader.shot(selector.strip("."))
    button.click()
    page.get_by_role("button", name="Explain this").click()
    reader.finished()
    # Exercises are known once the panel is in use.
    page.locator("#exercise-42 + p").scroll_into_view_if_needed()
    page.locator("#exercise-42 + p").hover()
    expect(button).to_have_text("A hint")
    reader.shot("exercise")
    button.click()
    expect(page.locator(".tbr-question")).to_have_count(2)
    reader.finished()
    expect(page.locator(".tbr-reply").last.locator(".tbr-passage")).to_have_count(1)
    reader.shot("first hint")
    page.get_by_role("button", name="Next hint").click()
    expect(page.locator(".tbr-reply").last.locator(".tbr-passage")).to_have_count(2)


def hint_then_solution(reader: Reader) -> None:
    page = reader.page
    reader.open()
    reader.ask("Exercise 4.1")
    reader.shot("exercise")
    page.get_by_role("button", name="A hint").click()
    expect(page.locator(".tbr-question")).to_have_count(2)
    reader.finished()
    reader.shot("hint")
    page.get_by_role("button", name="Show the solution").last.click()
    expect(page.locator(".tbr-question")).to_have_count(3)
    reader.finished()
    reader.shot("solution")


def quiz(reader: Reader) -> None:
    page = reader.page
    reader.open()
    page.keyboard.press("Control+i")
    page.get_by_role("tab", name="Quiz").click()
    reader.shot("before")
    page.get_by_role("button", name="Quiz me on this page").click()
    left = page.get_by_text("to go")
    left.wait_for()
    reader.shot("question")
    count = int((left.text_content() or "0").split()[0])
    for number in range(count):
        page.get_by_role("button", name="Show the answer").click()
        page.get_by_role("button", name="I knew it").wait_for()
        if not number:
            reader.shot("solution")
        page.get_by_role("button", name="I knew it").click()
    expect(page.get_by_text(f"{count} of {count} known at once")).to_be_visible()
    reader.shot("done")


def stay_before_what_comes(reader: Reader) -> None:
    reader.open("/docs/why-search")
    reader.page.keyboard.press("Control+i")
    reader.page.get_by_label("Where to look").select_option("Up to here")
    reader.ask("How is BM25 computed?")
    expect(reader.page.locator(".tbr-reply a", has_text="BM25")).to_have_count(0)
    reader.shot("up to here")


def glossary(reader: Reader) -> None:
    page = reader.page
    reader.open()
    page.keyboard.press("Control+i")
    page.get_by_role("tab", name="Terms").click()
    page.get_by_label("Underline them on the page").check()
    page.wait_for_function("CSS.highlights.has('textbook-rag-term')")
    reader.shot("underlined")
    box = page.evaluate(
        "() => { const [range] = CSS.highlights.get('textbook-rag-term');"
        " range.startContainer.parentElement.scrollIntoView({block: 'center'});"
        " const box = range.getBoundingClientRect(); return [box.x + 3, box.y + box.height / 2]; }"
    )
    page.mouse.click(*box)
    expect(page.locator(".tbr-term-card")).to_contain_text("Where it is defined")
    reader.shot("card")


def find(reader: Reader) -> None:
    page = reader.page
    reader.open()
    page.keyboard.press("Control+i")
    page.get_by_role("tab", name="Find").click()
    page.get_by_label("Search the book").press_sequentially("posting list gaps")
    page.locator(".tbr-view a.tbr-card").first.wait_for()
    reader.shot("found")
    page.locator(".tbr-view a.tbr-card").first.click()
    reader.landed()
    reader.shot("landed")


def by_keyboard_alone(reader: Reader) -> None:
    page = reader.page
    reader.open("/docs/why-search")
    page.keyboard.press("Control+i")
    page.keyboard.type("How is BM25 computed?")
    page.keyboard.press("Enter")
    reader.finished()
    focused = "() => document.querySelector('textbook-rag').shadowRoot.activeElement?.className"
    for _ in range(40):
        page.keyboard.press("Shift+Tab")
        if page.evaluate(focused) == "tbr-section":
            break
    reader.shot("focus")
    page.keyboard.press("Enter")
    reader.landed()
    page.keyboard.press("Control+i")
    page.keyboard.press("Control+i")
    page.keyboard.press("Escape")
    expect(page.locator(".tbr-launch")).to_be_focused()
    reader.shot("closed")


def dark_by_the_sites_switch(reader: Reader) -> None:
    page = reader.page
    reader.open()
    reader.ask("How is BM25 computed?")
    for _ in range(3):
        if page.locator("textbook-rag").get_attribute("data-theme") == "dark":
            break
        page.get_by_role("button", name=re.compile("Switch between dark and light")).click()
    expect(page.locator("textbook-rag")).to_have_attribute("data-theme", "dark")
    reader.shot("answer")
    page.locator(".tbr-passage .tbr-section").first.click()
    reader.landed()
    reader.shot("landed")


def right_to_left(reader: Reader) -> None:
    page = reader.page
    page.add_init_script(
        "new MutationObserver(() => { const html = document.documentElement;"
        " if (html && html.lang !== 'ar') { html.lang = 'ar'; html.dir = 'rtl'; } })"
        ".observe(document, {childList: true, attributes: true, subtree: true})"
    )
    reader.open("/docs/why-search")
    expect(page.locator(".tbr-launch")).to_contain_text("اسأل")
    reader.shot("closed")
    reader.ask("How is BM25 computed?")
    reader.shot("answer")


# --- on a phone ---------------------------------------------------------------------------------


def on_a_phone(reader: Reader) -> None:
    page = reader.page
    reader.open("/docs/why-search")
    reader.shot("closed")
    page.locator(".tbr-launch").tap()
    reader.shot("open")
    page.locator("textbook-rag textarea").fill("How is BM25 computed?")
    page.locator(".tbr-send").tap()
    reader.finished()
    reader.shot("answer")
    page.locator(".tbr-passage .tbr-section").first.tap()
    reader.landed()
    reader.shot("landed")
    # A formula makes this page wider than the screen, where Playwright taps beside the button.
    page.locator(".tbr-launch").evaluate("button => button.click()")
    expect(page.locator(".tbr-question")).to_be_visible()
    page.get_by_role("tab", name="Quiz").tap()
    page.get_by_role("button", name="Quiz me on this page").tap()
    page.get_by_role("button", name="Show the answer").tap()
    page.get_by_role("button", name="I knew it").wait_for()
    reader.shot("quiz")


# --- with a model that writes slowly, on a server that dies -------------------------------------


class Slowly(list[str]):
    """Pieces of a model's answer, each after a wait."""

    def __iter__(self) -> Iterator[str]:
        for piece in super().__iter__():
            time.sleep(_PIECE_SECONDS)
            yield piece


@dataclass
class Server:
    home: Path
    model: str
    process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{_PORT}"

    def start(self) -> None:
        settings = {
            "RAG_HOME": str(self.home),
            "RAG_PORT": str(_PORT),
            "RAG_ALLOWED_ORIGINS": "*",
            "RAG_GENERATOR": "openai",
            "RAG_OPENAI_BASE_URL": self.model,
        }
        command = [sys.executable, "-m", "app.cli", "demo"]
        with (self.home.parent / "journeys.log").open("ab") as log:
            self.process = subprocess.Popen(
                command, env=os.environ | settings, stdout=log, stderr=log
            )
        for _ in range(120):
            try:
                with urllib.request.urlopen(f"{self.address}/readyz"):
                    return
            except OSError:
                time.sleep(0.5)
        message = "the server did not start"
        raise AssertionError(message)

    def kill(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait()


def click_in_mid_stream(reader: Reader, _: Server) -> None:
    page = reader.page
    reader.open("/docs/why-search")
    page.keyboard.press("Control+i")
    page.locator("textbook-rag textarea").fill("How is BM25 computed?")
    page.keyboard.press("Enter")
    page.locator(".tbr-ref").first.click(timeout=60_000)
    reader.landed()
    reader.shot("landed under way")
    expect(page.locator(".tbr-question")).to_have_text("How is BM25 computed?")
    reader.finished()
    expect(page.locator(".tbr-error")).to_have_count(0)
    expect(page.locator(".tbr-citations li").first).to_be_visible()
    reader.shot("finished there")
    page.go_back()
    expect(page.locator(".tbr-ref").first).to_be_visible()


def the_server_dies_and_comes_back(reader: Reader, server: Server) -> None:
    page = reader.page
    reader.open("/docs/why-search")
    page.keyboard.press("Control+i")
    page.locator("textbook-rag textarea").fill("What is an inverted index?")
    page.keyboard.press("Enter")
    page.locator(".tbr-pending .tbr-answer").wait_for(timeout=60_000)
    server.kill()
    page.get_by_text("Reconnecting").wait_for(timeout=20_000)
    reader.shot("away")
    server.start()
    reader.finished()
    expect(page.locator(".tbr-error")).to_have_count(0)
    expect(page.locator(".tbr-ref").first).to_be_visible()
    reader.shot("back")


_ALONE: Sequence[tuple[Callable[[Reader], None], dict[str, Any]]] = (
    (ask_click_back_follow_up, _DESKTOP),
    (ask_about_a_selection, _DESKTOP),
    (ask_about_what_is_pointed_at, _DESKTOP),
    (hint_then_solution, _DESKTOP),
    (quiz, _DESKTOP),
    (stay_before_what_comes, _DESKTOP),
    (glossary, _DESKTOP),
    (find, _DESKTOP),
    (by_keyboard_alone, _DESKTOP),
    (dark_by_the_sites_switch, _DESKTOP),
    (right_to_left, _DESKTOP),
    (on_a_phone, _PHONE),
)
_WITH_SERVER = (click_in_mid_stream, the_server_dies_and_comes_back)


@contextmanager
def reading(
    browser: Browser, site: str, pictures: Path, name: str, size: dict[str, Any]
) -> Iterator[Reader]:
    context = browser.new_context(**size)
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    reader = Reader(context, page, site, pictures, name)
    try:
        yield reader
        assert not errors, errors
    except Exception:
        reader.shot("FAILED")
        raise
    finally:
        context.close()


def site_for(folder: Path, server: str, own: str, copy: Path) -> Path:
    """Return a copy of the site that is built for another server."""
    shutil.copytree(folder, copy, dirs_exist_ok=True)
    for page in copy.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        page.write_text(text.replace(server, own), encoding="utf-8")
    return copy


def tried(journey: Callable[[], None], name: str) -> int:
    try:
        journey()
    except Exception as error:  # noqa: BLE001 - the others are tried, too
        print(f"FAILED {name}: {str(error)[:600]}", flush=True)
        return 1
    print(name, flush=True)
    return 0


def main() -> int:
    folder, server, pictures = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    wanted = sys.argv[4:]
    pictures.mkdir(parents=True, exist_ok=True)
    failed = 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)

        def go(site: str, journey: Callable[..., None], size: dict[str, Any], *more: Server) -> int:
            name = journey.__name__.replace("_", " ")
            if wanted and journey.__name__ not in wanted:
                return 0

            def run() -> None:
                with reading(browser, site, pictures, name, size) as reader:
                    journey(reader, *more)

            return tried(run, name)

        with static_site(folder) as site:
            failed += sum(go(site, journey, size) for journey, size in _ALONE)
        with OpenAIDouble(answering=lambda request: Slowly(quote_sources(request))) as double:
            own = Server(pictures / "home", double.url)
            copy = site_for(folder, server, own.address, pictures / "site")
            own.start()
            try:
                with static_site(copy) as site:
                    failed += sum(go(site, journey, _DESKTOP, own) for journey in _WITH_SERVER)
            finally:
                own.kill()
        browser.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
