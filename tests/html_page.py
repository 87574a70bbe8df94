"""A page of HTML, read for tests: its elements, and the text of each paragraph id."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from html.parser import HTMLParser

_VOID = frozenset({"br", "hr", "img", "link", "meta", "wbr"})


@dataclass(frozen=True)
class Element:
    tag: str
    attributes: dict[str, str]


class Page(HTMLParser):
    """Fails on tags that do not match: a page must be well nested."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[Element] = []
        self.text: dict[str, str] = defaultdict(str)
        """By paragraph id: with the images' descriptions, without the marks of footnotes."""
        self._open: list[Element] = []
        self.feed(html)
        self.close()
        assert not self._open, f"not closed: {self._open}"

    @property
    def ids(self) -> list[str]:
        return [e.attributes["id"] for e in self.elements if "id" in e.attributes]

    def all(self, tag: str) -> list[Element]:
        return [element for element in self.elements if element.tag == tag]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.elements.append(element)
        if tag not in _VOID:
            self._open.append(element)
        if tag == "img":
            self._add_text(element.attributes.get("alt", ""), [*self._open, element])

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"</{tag}> closes nothing"
        assert self._open[-1].tag == tag, f"</{tag}> closes <{self._open[-1].tag}>"
        self._open.pop()

    def handle_data(self, data: str) -> None:
        self._add_text(data, self._open)

    def _add_text(self, text: str, around: list[Element]) -> None:
        if any("footnote-ref" in element.attributes.get("class", "") for element in around):
            return
        for element in around:
            if "data-paragraph-id" in element.attributes:
                self.text[element.attributes["data-paragraph-id"]] += text
