"""Text that is hostile or merely large: each pattern by name, made as long as it is asked for.

A pattern takes a number of characters and returns a text of about that length, so that twice the
number is twice the text whatever the pattern nests.
"""

from collections.abc import Callable
from itertools import count, takewhile
from math import isqrt

Pattern = Callable[[int], str]


def times(unit: str) -> Pattern:
    """The unit again and again."""
    return lambda size: unit * (size // len(unit))


def numbered(unit: str) -> Pattern:
    """The unit again and again, `№` being its number."""
    return lambda size: "".join(
        unit.replace("№", str(at)) for at in range(size // (len(unit) + 3) + 1)
    )


def deeper(line: str, step: str) -> Pattern:
    """The line again and again, each time indented by one more step."""
    return lambda size: "".join(step * at + line for at in range(isqrt(2 * size // len(step))))


def longer(mark: str, rest: str) -> Pattern:
    """The mark once, twice, three times and so on, each time with the rest behind it."""
    return lambda size: "".join(
        mark * at + rest
        for at in takewhile(lambda at: at * at * len(mark) // 2 + at * len(rest) < size, count(1))
    )


def inside(before: str, unit: str, after: str = "") -> Pattern:
    """The unit again and again in the middle."""
    return lambda size: before + unit * (size // len(unit)) + after


def both(opening: str, middle: str, closing: str) -> Pattern:
    """As many openings as closings, with something in the middle."""

    def made(size: int) -> str:
        number = size // len(opening + closing)
        return opening * number + middle + closing * number

    return made


PATTERNS: dict[str, Pattern] = {
    # prose
    "paragraphs": numbered("This is paragraph № of a book, and it says no more.\n\n"),
    "one long line": times("word and word "),
    "blank lines": times("\n"),
    "blanks before a word": inside("", " ", "x"),
    "carriage returns": times("line\r\n"),
    # headings
    "headings": numbered("# Heading №\n\n"),
    "a heading of many lines": inside("", "word\n", "===\n"),
    "heading ids": numbered("## Heading {#id-№}\n\n"),
    "headings in a heading's id": inside("# a ", "{#x} "),
    "headings that look numbered": numbered("# A_№\n\n# A\n\n"),
    "sections one inside the other": times("# A\n## B\n### C\n#### D\n##### E\n###### F\n\nx\n\n"),
    # emphasis
    "stars of all lengths": times("**a *b ***c "),
    "nested emphasis": both("*a ", "b", " c*"),
    "bold terms": numbered("**term №** and "),
    # code spans
    "backticks of all lengths": longer("`", " "),
    # links
    "brackets": times("["),
    "nested brackets": both("[", "a", "]"),
    "open links": times("[a]("),
    "links in links": both("[", "a", "](b)"),
    "parentheses in a target": inside("[a](", "(", ""),
    "definitions and their uses": numbered("[ref№]: page.md\n\n[ref№] is it.\n\n"),
    "addresses": times("http://a.b/c?d "),
    # footnotes
    "footnotes and their uses": numbered("word[^№] more\n\n[^№]: note\n\n"),
    "uses of one footnote": inside("[^1]: a\n\n", "b[^1] "),
    "footnotes in footnotes": times("[^1]: "),
    # lists and quotes
    "list items": numbered("- item №\n"),
    "nested lists": deeper("- x\n", "  "),
    "lists on one line": times("- "),
    "quotes": times(">"),
    "deeper quotes": longer("> ", "x\n"),
    "alerts": times("> [!NOTE] a\n> b\n\n"),
    # code blocks and rules
    "an open fence in lists": times("- ```\n"),
    "a fence's info": inside("```py ", 'title="a" '),
    "blanks in a rule": inside("-", " -", " x"),
    # HTML and JSX
    "open tags": times("<div>"),
    "tag lines": both("<div>\n\n", "a\n\n", "\n\n</div>\n\n"),
    "tags with open quotes": times('<a b="'),
    "a tag of many attributes": inside("<div ", 'a="b" ', ">\n"),
    "a tag of blanks": inside("<div ", " ", "x\n"),
    "open comments": times("<!--\n"),
    "open inline comments": times("a <!-- "),
    "open components": times('<Tip title="x">\n\na\n\n'),
    "component expressions": times("<Foo a={b} />\n\n"),
    "open braces in tags": times("<Foo a={\n"),
    "nested braces": both("{", "a", "}"),
    "strings in braces": inside("{", '"a\\" ', ""),
    "templates in braces": inside("<A b={`", "\\`", ""),
    "open imports": times("import {\n\n"),
    "titles in one note": inside(
        '<div data-type="note">\n\n', '<div data-type="title">\na\n</div>\n'
    ),
    "rows of one HTML table": inside("<table>", "<tr><td>a</td></tr>\n", "</table>\n"),
    "open cells of one HTML table": inside("<table>", "<tr><td>a\n", "</table>\n"),
    "HTML definitions": inside("<dl>", "<dt>a<dd>b\n", "</dl>\n"),
    "open scripts": times("<script>\n"),
    "open MathML": times("a <math> "),
    # tables
    "rows": inside("| a | b |\n|---|---|\n", "| 1 | 2 |\n"),
    "columns": lambda size: (
        "|".join("a" * (size // 6)) + "\n" + "-|" * (size // 6) + "\n" + "|".join("b" * (size // 6))
    ),
    "rows and columns": lambda size: (
        "| a " * isqrt(size // 4)
        + "|\n"
        + "|---" * isqrt(size // 4)
        + "|\n"
        + ("| b " * isqrt(size // 4) + "|\n") * isqrt(size // 4)
    ),
    # directives and admonitions
    "directives of many colons": longer(":", "note\n"),
    "nested directives": lambda size: (
        "".join(":" * at + "note\n" for at in range(isqrt(size), 2, -1))
        + "".join(":" * at + "\n" for at in range(3, isqrt(size) + 1))
    ),
    "a directive's open label": inside(":::note[", "[a](b) "),
    "nested admonitions": deeper("!!! note\n", "    "),
    "nested tabs": deeper('=== "Tab"\n', "    "),
    "open MyST directives": times("```{note}\n"),
    "options": inside("```{note}\n", ":a: b\n", "\na\n```\n"),
    "YAML options": times("```{note}\n---\na: b\n---\nc\n```\n"),
    "MyST glossaries": inside("```{glossary}\n", "a\n  b\n", "```\n"),
    "open MyST roles": times("{a}`"),
    "MyST roles with targets": inside("{ref}`", "a < ", "`"),
    "snippets": numbered('--8<-- "f№.md"\n'),
    "open includes": times("{{#include "),
    "elements one inside the other": deeper("<div markdown>\n", "    "),
    # definitions of terms
    "definitions of terms": numbered("term №\n: it is that\n\n"),
    "definitions of one term": inside("term\n", ": a\n"),
    "nested definitions": times("a\n: "),
    # attributes, entities, escapes, maths
    "attribute lists": times("a{: .b}\n{: #c}\n\n"),
    "blanks in an attribute list": inside("# a {:", " ", "\n"),
    "entities": times("&amp;"),
    "open formulas": times("$a "),
    "open display formulas": times("a\n\n$$\n"),
    "environments": times("\\begin{align}\n"),
    "ids in an attribute list": inside("{.a", " #b", "}\n"),
    "open images with blanks in their path": times('![a](b c.png "d '),
    # front matter
    "front matter": lambda size: "---\n" + numbered("key№: [1, 2]\n")(size) + "---\n\na\n",
    "open front matter": lambda size: "---\n" + numbered("key№: text\n")(size),
    "nested front matter": inside("---\na: ", "[", "\n---\n\na\n"),
    "front matter of blanks": inside("---\na: ", " ", "b\n---\n\na\n"),
    # what headings make of blocks
    "exercises under a heading": lambda size: "# Exercises\n\n" + numbered("№. Do it.\n")(size),
    "a glossary under a heading": lambda size: (
        "# Glossary\n\n" + numbered("**Term №:** it is that.\n\n")(size)
    ),
    "a glossary's list": lambda size: "# Glossary\n\n" + numbered("- Term №: it is that.\n")(size),
    "one figure's captions": inside("![a](b)\n\n", "*Figure 1: c*\n\n"),
    "an unclosed title": inside("# see ", "the ", "x\n"),
    # what searches of one expression could go over again and again
    "blanks in a heading": inside("# a", " ", "b\n\n"),
    "a heading's long number": lambda size: f"# a_{'1' * (size // 2)}\n\n" * 2,
    "a long word in braces": inside("a *b*{", "w", " c\n"),
    "blanks in a role": inside("{ref}`a", " ", "b`"),
    "cells without an angle": inside("<table><tr>", "<td ", "</tr></table>\n"),
    "comments in preformatted text": inside("<pre>", "<!-- ", "</pre>\n"),
    "attribute lists behind one block": inside("a\n\n", "{: #b}\n\n"),
    "colons round tags": lambda size: (
        "::::note\n" + "<div>\n" * (size // 10) + ":::\n" * (size // 10)
    ),
}
