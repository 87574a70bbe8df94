"""Random Markdown in which the place of every word is known."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random


@dataclass
class RandomMarkdown:
    """Markdown with a numbered word everywhere, and the positions of the words in it."""

    random: Random
    text: str = ""
    ends: dict[int, list[int]] = field(default_factory=dict)
    """Word -> positions at which a claim that ends with it may end; none inside a listing."""
    starts: dict[int, int] = field(default_factory=dict)
    blocks: list[range] = field(default_factory=list)
    count: int = 0

    def build(self) -> RandomMarkdown:
        for _ in range(self.random.randint(1, 5)):
            self.random.choice(
                [self.paragraph, self.bullets, self.table, self.heading, self.quote, self.listing]
            )()
        return self

    def word(self, closing: str = "", *, in_code: bool = False) -> None:
        """Without references and escapes in code."""
        if not in_code:
            self.text += self.random.choice(["", "", "", "🦉", "é", "&amp; ", "\\* "])
        self.starts[self.count] = len(self.text)
        self.text += f"w{self.count}"
        self.ends[self.count] = [len(self.text)]
        if closing:
            self.text += closing
            self.ends[self.count].append(len(self.text))
        self.count += 1

    def run(self) -> None:
        """Some words in one kind of mark-up."""
        opening, closing = self.random.choice(
            [("", ""), ("", ""), ("**", "**"), ("*", "*"), ("`", "`"), ("[", "](/x)"), ("~~", "~~")]
        )
        self.text += opening
        words = self.random.randint(1, 3)
        for number in range(words):
            last = number == words - 1
            self.word(closing if last else "", in_code=opening == "`")
            if not last:
                self.text += " "

    def line(self) -> None:
        first = self.count
        for number in range(self.random.randint(1, 4)):
            if number:
                self.text += self.random.choice([" ", " ", ", ", " $x_1$ "])
            self.run()
        self.blocks.append(range(first, self.count))

    def paragraph(self) -> None:
        self.line()
        self.text += ".\n\n"

    def heading(self) -> None:
        self.text += "#" * self.random.randint(1, 4) + " "
        self.line()
        self.text += "\n\n"

    def quote(self) -> None:
        self.text += "> "
        self.line()
        self.text += "\n> "
        self.line()
        self.text += "\n\n"

    def bullets(self) -> None:
        for number in range(self.random.randint(1, 3)):
            self.text += self.random.choice(["- ", f"{number + 1}. "])
            self.line()
            self.text += "\n"
            if self.random.random() < 0.4:
                self.text += "    - "
                self.line()
                self.text += "\n"
        self.text += "\n"

    def table(self) -> None:
        for row in range(self.random.randint(2, 4)):
            for _ in range(2):
                self.text += "| "
                self.line()
                self.text += " "
            self.text += "|\n" + ("|---|:-:|\n" if row == 0 else "")
        self.text += "\n"

    def listing(self) -> None:
        self.text += f"```python\nw{self.count} = 1\n```\n\n"
        self.starts[self.count] = len(self.text) - 1
        self.ends[self.count] = []
        self.count += 1
