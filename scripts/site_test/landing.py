"""Measure the share of citations into a built site that open at the right, visible block.

    python scripts/site_test/landing.py SITE_FOLDER [BOOK_FOLDER] --book ID [--count 400]

SITE_FOLDER is a build; BOOK_FOLDER holds its Markdown, else the build itself is read. The widget is
put on pages without its tag. The right block is known from its whole text. Prints a table by kind
of block and the misses.
"""

import argparse
import asyncio
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import Browser, Page, Route, async_playwright

from app.domain.identity import norm
from scripts.site_test import judge
from tests.browsing import ARGUMENTS, CHROMIUM
from tests.local_http import static_site

_LEFT_OUT = {"heading", "math", "figure"}
"""Kinds without a text to quote."""
_MIN_LETTERS = 12
WIDGET = Path(__file__).parents[2] / "app/widget/bundle/widget.js"
_READERS = 4
"""Browser contexts at the same time: each mostly waits for its page to settle."""
_LIST_NUMBER = re.compile(r"^\s*\d{1,3}[.)]\s", re.MULTILINE)
"""Browsers render these; they are not text of the page."""


class Way(StrEnum):
    LINK = "link"
    """The URL with its text fragment, without the widget."""
    WIDGET = "widget"
    IDS = "ids"
    """The paragraph's id as the anchor, without the widget, on a site built with the ids."""


@dataclass(frozen=True)
class Case:
    """A citation of a block."""

    kind: str
    file: str
    text: str
    """Letters and digits of the block."""
    nth: int
    """Number of earlier occurrences of this text on the page."""
    target: dict[str, str]
    local: str
    """Its address on the tested site."""


def printed(*arguments: str) -> list[dict[str, Any]]:
    """Return what a command prints as JSON lines."""
    command = [sys.executable, "-m", "app.cli", *arguments]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [json.loads(line) for line in out.splitlines() if line.startswith("{")]


def quote_of(block: dict[str, Any], random: Random) -> tuple[str, str, str]:
    """Return one to three sentences of the block with the text before and after them."""
    text: str = block["text"]
    if block["kind"] in {"code", "table"} or len(text) < 80:
        return text, "", ""
    ends = [match.end() for match in re.finditer(r"[.!?:](?=\s|$)|\n", text)]
    starts = [0, *ends[:-1]] if ends else [0]
    index = random.randrange(len(starts))
    last = min(index + random.randint(0, 2), len(ends) - 1) if ends else 0
    start, end = starts[index], ends[last] if ends else len(text)
    quote = text[start:end].strip()
    if sum(map(str.isalnum, quote)) < _MIN_LETTERS:
        return text, "", ""
    start = text.index(quote, start)
    return quote, text[max(0, start - 32) : start], text[start + len(quote) :][:32]


def edited(quote: str, share: float, random: Random) -> str:
    """Return the quote as it was before an author changed this share of its words."""
    words = quote.split(" ")
    return " ".join(
        random.choice(words) if random.random() < share else word
        for word in words
        if random.random() >= share / 3
    )


def cases(folder: Path, options: argparse.Namespace, site: str) -> list[Case]:
    random = Random(options.seed)
    count = options.count
    rows = printed("links", options.book)
    urls = {(row["file"], row["start"]): row["url"] for row in rows}
    by_kind: dict[str, list[Case]] = {}
    read: dict[str, str] = {}
    for block in printed("blocks", str(folder)):
        text = norm(_LIST_NUMBER.sub("", block["text"]))
        before = read.get(block["file"], "")
        read[block["file"]] = before + text
        if block["kind"] in _LEFT_OUT or sum(map(str.isalnum, block["text"])) < _MIN_LETTERS:
            continue
        file = block["file"]
        url = urls.get((file, block["start"]))
        if url is None:
            continue
        quote, prefix, suffix = quote_of(block, random)
        if options.edited:
            quote, prefix, suffix = edited(quote, options.edited, random), "", ""
            url = url.partition(":~:")[0]  # its words are not edited
        target = {
            "id": block["paragraph_id"],
            "url": url,
            "quote": quote,
            "prefix": prefix,
            "suffix": suffix,
        }
        parts = urlsplit(url)
        fragment = f"#{parts.fragment}" if parts.fragment else ""
        local = f"{site}{parts.path}?cite={block['paragraph_id']}{fragment}"
        by_kind.setdefault(block["kind"], []).append(
            Case(block["kind"], file, text, before.count(text), target, local)
        )
    # Every kind gets its share; a rare kind at least all its blocks.
    chosen: list[Case] = []
    kinds = sorted(by_kind, key=lambda kind: len(by_kind[kind]))
    for position, kind in enumerate(kinds):
        share = (count - len(chosen)) // (len(kinds) - position)
        chosen += random.sample(by_kind[kind], min(share, len(by_kind[kind])))
    return chosen


async def land(page: Page, case: Case, way: Way) -> dict[str, Any]:
    await page.goto("about:blank")
    if way is Way.WIDGET:
        kept = json.dumps(json.dumps([case.target]))
        await page.goto(f"{urlsplit(case.local).scheme}://{urlsplit(case.local).netloc}/robots.txt")
        await page.evaluate(f"localStorage.setItem('textbook-rag:targets', {kept})")
    at_id = f"{case.local.partition('?')[0]}#{case.target['id']}"
    await page.goto(at_id if way is Way.IDS else case.local)
    if way is Way.WIDGET:
        mark = page.locator("[data-textbook-rag-cited]").first
        try:
            await mark.wait_for(state="attached", timeout=20_000)
        except Exception:  # noqa: BLE001 - a miss is counted, whatever its reason
            return {"marked": 0, "fits": False, "seen": False}
        await page.wait_for_timeout(1_500)
    else:
        await page.wait_for_timeout(1_500)
    cited = ":target" if way is Way.IDS else "[data-textbook-rag-cited]"
    return await judge.by_text(page, case.text, case.nth, cited)


async def with_widget(route: Route) -> None:
    """Answer a request for a page without the widget's tag with one that has it."""
    if urlsplit(route.request.url).path.endswith("/widget.js"):
        await route.fulfill(path=WIDGET)
    elif urlsplit(route.request.url).hostname != "127.0.0.1":
        await route.abort()  # a frame of another site, which cannot be reached here
    elif route.request.is_navigation_request():
        response = await route.fetch()
        html = await response.text()
        if "/widget.js" not in html:
            html += '<script src="/widget.js" defer></script>'
        await route.fulfill(response=response, body=html)
    else:
        await route.continue_()


async def measure(browser: Browser, all_cases: Sequence[Case], way: Way) -> None:
    queue = list(enumerate(all_cases))
    results: list[dict[str, Any] | None] = [None] * len(all_cases)

    async def work() -> None:
        # Each with its own storage.
        context = await browser.new_context(viewport={"width": 1280, "height": 800})
        page = await context.new_page()
        if way is Way.WIDGET:
            await page.route("**/*", with_widget)
        else:
            await page.route("**/widget.js*", lambda route: route.abort())
        while queue:
            index, case = queue.pop()
            results[index] = await land(page, case, way)

    await asyncio.gather(*(work() for _ in range(_READERS)))
    landed, total, wrong = Counter[str](), Counter[str](), 0
    for case, result in zip(all_cases, results, strict=True):
        assert result is not None
        if not result.get("right", 1):
            print(f"  not judged: {case.file} {case.target['quote'][:40]!r}")
            continue
        good = result["seen"] and (result["fits"] or way is Way.LINK)
        total[case.kind] += 1
        landed[case.kind] += good
        wrong += result["marked"] > 0 and not result["fits"]
        if not good:
            quote = case.target["quote"][:70]
            print(f"  miss {case.kind} {case.file} {result} {quote!r}")
    for kind in sorted(total):
        print(f"| {way} | {kind} | {landed[kind]}/{total[kind]} |")
    if not total:
        print(f"| {way} | all | nothing judged |")
        return
    share = landed.total() / total.total()
    print(
        f"| {way} | all | {landed.total()}/{total.total()} = {share:.1%}, wrong place {wrong} |",
        flush=True,
    )


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site", type=Path)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--book", required=True, help="its id in the index")
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--ways",
        nargs="+",
        type=Way,
        choices=Way,
        default=[Way.WIDGET],
        metavar="WAY",
        help="link alone, with the widget, with ids: each is measured",
    )
    parser.add_argument(
        "--edited",
        type=float,
        default=0.0,
        help="share of the words that an author has changed since",
    )
    options = parser.parse_args()
    folder = options.folder or options.site
    with static_site(options.site) as address:
        chosen = cases(folder, options, address)
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
            for way in options.ways:
                await measure(browser, chosen, way)
            await browser.close()


if __name__ == "__main__":
    asyncio.run(main())
