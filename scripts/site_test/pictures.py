"""Make the README's pictures: `python scripts/site_test/pictures.py DEMO_URL FOLDER`.

Needs Pillow. Writes `widget.png`, an answer beside its page, and `widget.gif`, a question, its
answer, and the click on a source that marks the paragraph.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, expect, sync_playwright

from tests.browsing import ARGUMENTS, CHROMIUM, CITED

_QUESTION = "How is BM25 computed?"
_SIZE = (1200, 720)
_GIF_WIDTH = 800
_COLOURS = 96
_ANIMATION_MS = 400


def frame(page: Page) -> Image.Image:
    page.wait_for_timeout(_ANIMATION_MS)  # the picture shows the end of every animation
    return Image.open(io.BytesIO(page.screenshot())).convert("RGB")


def frames(page: Page, address: str) -> list[tuple[Image.Image, int]]:
    """Return pictures, each with its duration in ms."""
    page.goto(f"{address}/pages/small-book-of-search/01-why-search.html")
    taken = [(frame(page), 900)]
    page.keyboard.press("Control+i")
    field = page.get_by_label("Your question")
    for part in (_QUESTION[:10], _QUESTION[10:]):
        field.press_sequentially(part)
        taken.append((frame(page), 500))
    page.keyboard.press("Enter")
    page.locator(".tbr-actions").last.wait_for()
    taken.append((frame(page), 2_600))
    page.locator(".tbr-passage .tbr-section").first.click()
    expect(page.locator(CITED).first).to_be_in_viewport()
    taken.append((frame(page), 3_500))
    return taken


def small(image: Image.Image) -> Image.Image:
    height = round(image.height * _GIF_WIDTH / image.width)
    return image.resize((_GIF_WIDTH, height), Image.Resampling.LANCZOS).quantize(_COLOURS)


def main() -> None:
    folder = Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        width, height = _SIZE
        page = browser.new_page(viewport={"width": width, "height": height})
        taken = frames(page, sys.argv[1])
        browser.close()
    taken[-1][0].quantize(256).save(folder / "widget.png", optimize=True)
    first, *others = (small(image) for image, _ in taken)
    shown = [milliseconds for _, milliseconds in taken]
    first.save(
        folder / "widget.gif", save_all=True, append_images=others, duration=shown, loop=0,
        optimize=True,
    )  # fmt: skip
    for name in ("widget.png", "widget.gif"):
        print(f"{folder / name}: {(folder / name).stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
