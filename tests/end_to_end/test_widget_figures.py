"""The book's own figures in the panel."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browsing import ask

QUESTION = "Show me the diagram of HNSW"


@pytest.mark.parametrize("width", [1280, 700, 320])
def test_a_figure_is_shown_within_the_panel_and_enlarged(opened: Page, width: int) -> None:
    opened.set_viewport_size({"width": width, "height": 800})
    ask(opened, QUESTION)
    figure = opened.locator(".tbr-figure")
    expect(figure).to_have_count(1)
    image = figure.get_by_role("img", name="Three layers of points joined by lines")
    image.scroll_into_view_if_needed()
    expect(image).to_have_js_property("complete", value=True)
    expect(image).not_to_have_js_property("naturalWidth", 0)
    log = opened.locator("#tbr-view-ask")
    assert log.evaluate("log => log.scrollWidth <= log.clientWidth")
    expect(figure.get_by_text("Figure 6.1: A search in HNSW.")).to_be_visible()
    opened.get_by_role("button", name="Enlarge: Figure 6.1").click()
    enlarged = opened.locator("dialog.tbr-enlarged")
    expect(enlarged).to_be_visible()
    box = enlarged.bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    opened.keyboard.press("Escape")
    expect(enlarged).to_have_count(0)
    expect(opened.get_by_label("Your question")).to_be_visible()
    expect(opened.get_by_role("button", name="Enlarge: Figure 6.1")).to_be_focused()


def test_a_broken_image_leaves_its_caption(opened: Page) -> None:
    opened.route("**/img/hnsw.svg", lambda route: route.fulfill(status=200, body="no image"))
    ask(opened, QUESTION)
    caption = opened.locator(".tbr-figure figcaption")
    caption.scroll_into_view_if_needed()
    expect(caption).to_contain_text("Figure 6.1: A search in HNSW.")
    expect(opened.locator(".tbr-figure img")).to_have_count(0)


def test_the_caption_leads_to_the_figure_on_its_page(opened: Page) -> None:
    ask(opened, QUESTION)
    opened.locator(".tbr-figure figcaption a").click()
    opened.wait_for_url("**/06-dense-vectors.html?cite=*")
    expect(opened.locator("article img[src$='hnsw.svg']")).to_be_in_viewport()
