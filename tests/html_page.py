"""A page of HTML, read for tests: its elements, and the text of each paragraph id."""

from __future__ import annotations

from lxml.html import HtmlElement, document_fromstring


class Page:
    def __init__(self, html: str) -> None:
        root = document_fromstring(html or "<p>")
        self.elements: list[HtmlElement] = [one for one in root.iter() if isinstance(one.tag, str)]
        self.ids = [one.get("id") for one in self.elements if one.get("id")]
        marked = [one for one in self.elements if one.get("data-paragraph-id")]
        self.text = {one.get("data-paragraph-id", ""): _text(one) for one in marked}
        """By paragraph id: with the images' descriptions, without the marks of footnotes."""

    def all(self, tag: str) -> list[HtmlElement]:
        return [element for element in self.elements if element.tag == tag]


def _text(element: HtmlElement) -> str:
    mark = "ancestor-or-self::*[contains(@class, 'footnote-ref')]"
    found = element.xpath(f".//text()[not({mark})] | descendant-or-self::img/@alt")
    return "".join(map(str, found))
