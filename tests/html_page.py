"""A page of HTML, read for tests: its elements, and the text of each paragraph id."""

from __future__ import annotations

from collections import defaultdict

from lxml import html
from lxml.html import HtmlElement

_TEXT = ".//text()[not(ancestor::*[contains(@class, 'footnote-ref')])] | .//img/@alt"


class Page:
    def __init__(self, page: str) -> None:
        self.elements = [*html.document_fromstring(page).iter("*")]
        self.ids = [one.attrib["id"] for one in self.elements if "id" in one.attrib]
        self.text: dict[str, str] = defaultdict(str)
        """By paragraph id: with the images' descriptions, without the marks of footnotes."""
        for one in self.elements:
            if paragraph := one.get("data-paragraph-id"):
                self.text[paragraph] += "".join(map(str, one.xpath(_TEXT)))

    def all(self, tag: str) -> list[HtmlElement]:
        return [one for one in self.elements if one.tag == tag]
