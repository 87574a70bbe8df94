"""Ask on each version and locale of a built site: `python scripts/site_test/editions.py FOLDER`.

FOLDER is the build of `editions/`; its book `lamps` is on the server that the site's configuration
names. Each answer must be from the page's edition. Its source must be highlighted and visible, also
in a tab or in closed details.
"""

import sys
from pathlib import Path

from playwright.sync_api import Browser, expect, sync_playwright

from tests.browsing import ARGUMENTS, CHROMIUM, CITED
from tests.local_http import static_site

_SITE = "http://127.0.0.1:8793"
_ASKED = (
    ("/docs/wicks", "How often is the wick of the lamp trimmed?", "every four hours"),
    ("/docs/next/wicks", "How often is the wick of the lamp trimmed?", "every nine hours"),
    ("/docs/wicks", "How often does the foghorn sound in fog?", "sounds twice a minute"),
    ("/docs/next/wicks", "How often does the foghorn sound in fog?", "sounds three times a minute"),
    ("/docs/next/wicks", "What does coal gas need?", "a meter beside the stairs"),
    ("/de/docs/wicks", "Wie oft wird der Docht der Lampe geschnitten?", "alle vier Stunden"),
    ("/de/docs/wicks", "Wie oft ertönt das Nebelhorn bei Nebel?", "zweimal in der Minute"),
    ("/de/docs/wicks", "Was braucht Leuchtgas?", "einen Zähler neben der Treppe"),
    ("/de/docs/next/wicks", "What does coal gas need?", "a meter beside the stairs"),
    ("/de/docs/keepers", "When does the keeper of the lamp sleep?", "sleeps by day"),
)


def ask(browser: Browser, path: str, question: str, answer: str) -> None:
    page = browser.new_page(viewport={"width": 1360, "height": 600})
    page.goto(_SITE + path)
    page.locator("textbook-rag .tbr-launch").wait_for()
    page.keyboard.press("Control+i")
    page.locator("textbook-rag textarea").fill(question)
    page.keyboard.press("Enter")
    page.locator(".tbr-actions").last.wait_for()
    passage = page.locator(".tbr-passage", has_text=answer).first
    passage.locator(".tbr-section").click()
    cited = page.locator(CITED).filter(has_text=answer)
    expect(cited.first).to_be_in_viewport(timeout=20_000)
    # For the same edition, on any of its pages.
    root = path.rpartition("/")[0]
    assert page.url.startswith(f"{_SITE}{root}/"), page.url
    page.close()


def main() -> None:
    with static_site(Path(sys.argv[1]), 8793), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        for path, question, answer in _ASKED:
            ask(browser, path, question, answer)
            print(f"{path}: {question} {answer}")
        browser.close()


if __name__ == "__main__":
    main()
