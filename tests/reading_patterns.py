"""Text that is hostile or merely large: each pattern by name, made as long as it is asked for.

A pattern takes a number of characters and returns a text of about that length, so that twice the
number is twice the text whatever the pattern nests.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count, takewhile
from math import isqrt

Pattern = Callable[[int], str]


def times(unit: str, end: str = "") -> Pattern:
    """The unit again and again, and as often what ends it."""
    return lambda size: unit * (size // len(unit + end)) + end * (size // len(unit + end))


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
    "one word": times("w"),
    "one paragraph of lines": times("a line of words\n"),
    "blank lines": times("\n"),
    "blanks": times(" "),
    "blanks before a word": inside("", " ", "x"),
    "blanks behind a word": inside("x", " ", "\nmore"),
    "tabs between words": inside("x", "\t", "\nmore"),
    "hard breaks": times("word  \n"),
    "backslash breaks": times("word\\\n"),
    "carriage returns": times("line\r\n"),
    "equal lines": times("The same line.\n\n"),
    "other spaces": times("a\u00a0\u2003"),
    # headings
    "headings": numbered("# Heading №\n\n"),
    "equal headings": times("# A\n\ntext\n\n"),
    "headings with equal names of six": times("###### A\n"),
    "underlined headings": numbered("Heading №\n=====\n\n"),
    "dashes under lines": times("word\n---\n"),
    "a heading of many lines": inside("", "word\n", "===\n"),
    "heading ids": numbered("## Heading {#id-№}\n\n"),
    "headings of hashes": inside("# ", "#"),
    "headings in a heading's id": inside("# a ", "{#x} "),
    "headings that look numbered": numbered("# A_№\n\n# A\n\n"),
    "sections one inside the other": times("# A\n## B\n### C\n#### D\n##### E\n###### F\n\nx\n\n"),
    # emphasis
    "stars": times("*"),
    "underscores": times("_"),
    "open stars": times("*a "),
    "open and closed stars": times("*a** "),
    "stars of all lengths": times("**a *b ***c "),
    "underscores in words": times("a_b_"),
    "nested emphasis": both("*a ", "b", " c*"),
    "nested strong": both("**a ", "b", " c**"),
    "strikes": times("~~a "),
    "bold terms": numbered("**term №** and "),
    # code spans
    "backticks of all lengths": longer("`", " "),
    "backticks": times("`"),
    "open backticks": times("a ` b `` "),
    "code spans": times("`a` b "),
    "escaped backticks": times("\\`"),
    # links
    "brackets": times("["),
    "closing brackets": times("]"),
    "nested brackets": both("[", "a", "]"),
    "open links": times("[a]("),
    "links": numbered("[link №](page№.md) "),
    "links in links": both("[", "a", "](b)"),
    "links with open titles": times('[a](b "'),
    "links with open angles": times("[a](<b"),
    "parentheses in a target": inside("[a](", "(", ""),
    "closed parentheses in a target": lambda size: "[a](" + "(" * (size // 2) + ")" * (size // 2),
    "images": times("!["),
    "images in images": both("![", "a", "](b)"),
    "references": numbered("[link №][ref] "),
    "empty references": times("[a][] "),
    "definitions": numbered("[ref№]: page.md\n"),
    "definitions with open titles": numbered('[ref№]: page.md "\n'),
    "definitions broken by lines": times("[a]:\n"),
    "definitions and their uses": numbered("[ref№]: page.md\n\n[ref№] is it.\n\n"),
    "open definitions": times("[a\n"),
    "autolinks": times("The page <http://a.b> is the one for it. "),
    "open autolinks": times("<http://a"),
    "addresses": times("http://a.b/c?d "),
    # footnotes
    "footnotes": numbered("[^№]: note\n\n"),
    "footnotes and their uses": numbered("word[^№] more\n\n[^№]: note\n\n"),
    "uses of one footnote": inside("[^1]: a\n\n", "b[^1] "),
    "footnotes in footnotes": times("[^1]: "),
    "open footnotes": times("[^"),
    "indented footnotes": deeper("[^1]: a\n\n", "    "),
    # lists and quotes
    "list items": numbered("- item №\n"),
    "loose list items": numbered("- item №\n\n"),
    "ordered items": lambda size: "".join(f"{at}. item\n" for at in range(1, size // 9)),
    "items with paragraphs": times("- a\n\n  b\n\n"),
    "nested lists": deeper("- x\n", "  "),
    "lists on one line": times("- "),
    "numbered lists on one line": times("1. "),
    "lists of each mark": times("- a\n+ b\n* c\n"),
    "a list's lazy lines": inside("- a\n", "b\n"),
    "task lists": times("- [ ] a\n"),
    "quotes": times(">"),
    "quotes with blanks": times("> "),
    "quoted lines": times("> word\n"),
    "deeper quotes": longer("> ", "x\n"),
    "a quote's lazy lines": inside("> a\n", "b\n"),
    "quotes and lists": times("> - "),
    "quotes apart": times("> a\n\n"),
    "quotes that grow shallow": lambda size: (
        "".join(">" * at + "x\n" for at in range(min(isqrt(2 * size), 40), 0, -1))
        * (size // 900 + 1)
    ),
    "alerts": times("> [!NOTE] a\n> b\n\n"),
    # code blocks and rules
    "indented code": times("    code\n"),
    "indented code apart": times("    code\n\n"),
    "fences": times("```py\ncode\n```\n"),
    "open fences": times("```\n\n~~~\n"),
    "fences of all lengths": longer("`", "\n"),
    "tildes of all lengths": longer("~", "\n"),
    "an open fence in lists": times("- ```\n"),
    "an open fence in quotes": times("> ```\n\n"),
    "a fence's info": inside("```py ", 'title="a" '),
    "rules": times("---\n\n"),
    "rules of stars": times("* * *\n"),
    "blanks in a rule": inside("-", " -", " x"),
    # HTML and JSX
    "open tags": times("<div>"),
    "nested tags": both("<div>", "a", "</div>"),
    "tag lines": both("<div>\n\n", "a\n\n", "\n\n</div>\n\n"),
    "closing tags": times("</div>\n"),
    "tags of many names": numbered("<x№>\n\n"),
    "inline tags": times("a <b>c</b> "),
    "open inline tags": times("<b"),
    "tags with open quotes": times('<a b="'),
    "a tag of many attributes": inside("<div ", 'a="b" ', ">\n"),
    "a tag of blanks": inside("<div ", " ", "x\n"),
    "attributes without values": inside("<div ", "a ", "\n"),
    "comments": times("<!-- a -->\n"),
    "inline comments": times("a <!-- b --> "),
    "open comments": times("<!--\n"),
    "open inline comments": times("a <!-- "),
    "declarations": times("a <!b "),
    "instructions": times("a <?b "),
    "components": times('<Tip title="x">\n\na\n\n</Tip>\n\n'),
    "open components": times('<Tip title="x">\n\na\n\n'),
    "component expressions": times("<Foo a={b} />\n\n"),
    "open braces in tags": times("<Foo a={\n"),
    "nested braces": both("{", "a", "}"),
    "open braces": times("{\n"),
    "braces in a line": times("a {b "),
    "expressions": times("{a}\n\n"),
    "strings in braces": inside("{", '"a\\" ', ""),
    "templates in braces": inside("<A b={`", "\\`", ""),
    "imports": numbered('import X№ from "./x№.mdx"\n\n'),
    "one block of imports": numbered('import X№ from "./x№.mdx"\n'),
    "open imports": times("import {\n\n"),
    "exports": times("export const a = {\n"),
    "quizzes": times('<Question choices={[{text: "a"}]} />\n\n'),
    "an open quiz": inside("<Question choices={[", '{text: "a'),
    "summaries": times("<details><summary>Solution</summary>\n"),
    "details": times("<details><summary>Solution</summary>\n\na\n\n</details>\n\n"),
    "exercises": times('<div data-type="exercise">\n\na\n\n</div>\n\n'),
    "open exercises": times('<div data-type="exercise">\n\na\n\n'),
    "exercises in notes": both(
        '<div data-type="note">\n\na\n\n<div data-type="exercise">\n\n', "b", "</div>\n\n"
    ),
    "titles": times('<div data-type="title">\n\na\n\n</div>\n\n'),
    "titles in one note": inside(
        '<div data-type="note">\n\n', '<div data-type="title">\na\n</div>\n'
    ),
    "HTML tables": times("<table><tr><td>a</td></tr></table>\n\n"),
    "rows of one HTML table": inside("<table>", "<tr><td>a</td></tr>\n", "</table>\n"),
    "open cells of one HTML table": inside("<table>", "<tr><td>a\n", "</table>\n"),
    "open HTML tables": times("<table>\n"),
    "HTML lists": inside("<ul>", "<li>a\n", "</ul>\n"),
    "open HTML lists": times("<ul><li>a\n"),
    "HTML definitions": inside("<dl>", "<dt>a<dd>b\n", "</dl>\n"),
    "captions of an HTML table": inside("<table>", "<caption>", "</table>\n"),
    "images of an HTML table": inside("<table><tr><td>", "<img a ", "</td></tr></table>\n"),
    "open angles of an HTML table": inside("<table><tr><td>", "<a ", "</td></tr></table>\n"),
    "scripts": times("<script>\na\n</script>\n"),
    "open scripts": times("<script>\n"),
    "MathML": times("<math><mi>x</mi></math> "),
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
    "columns without cells": lambda size: (
        "|a" * isqrt(size) + "|\n" + "|-" * isqrt(size) + "|\n" + "|\n" * (size // 2)
    ),
    "tables": times("| a |\n|---|\n| 1 |\n\n"),
    "lines of pipes": times("|\n"),
    "dividing lines": times("|---|\n"),
    "escaped pipes": inside("| a |\n|---|\n| ", "\\|", " |\n"),
    # directives and admonitions
    "directives": times(":::note\n\na\n\n:::\n\n"),
    "open directives": times(":::note\n"),
    "closing directives": times(":::\n"),
    "directives of many colons": longer(":", "note\n"),
    "nested directives": lambda size: (
        "".join(":" * at + "note\n" for at in range(isqrt(size), 2, -1))
        + "".join(":" * at + "\n" for at in range(3, isqrt(size) + 1))
    ),
    "a directive's open label": inside(":::note[", "[a](b) "),
    "admonitions": times("!!! note\n    a\n\n"),
    "nested admonitions": deeper("!!! note\n", "    "),
    "an admonition's names": inside("!!! ", "note ", '"\n'),
    "tabs": times('=== "Tab"\n\n    a\n\n'),
    "nested tabs": deeper('=== "Tab"\n', "    "),
    "MyST directives": times("```{note} T\na\n```\n"),
    "open MyST directives": times("```{note}\n"),
    "MyST colon fences": times(":::{note} T\na\n:::\n"),
    "open MyST colon fences": times(":::{note}\n"),
    "nested MyST colon fences": lambda size: (
        "".join(":" * at + "{note}\n" for at in range(isqrt(size), 2, -1))
        + "".join(":" * at + "\n" for at in range(3, isqrt(size) + 1))
    ),
    "MyST directives of all lengths": longer("`", "{note}\n"),
    "options": inside("```{note}\n", ":a: b\n", "\na\n```\n"),
    "open YAML options": times("```{note}\n---\n"),
    "YAML options": times("```{note}\n---\na: b\n---\nc\n```\n"),
    "gates": times("```{exercise-start}\n```\nx\n\n"),
    "MyST glossaries": inside("```{glossary}\n", "a\n  b\n", "```\n"),
    "MyST labels": numbered("(label-№)=\n"),
    "MyST comments": times("% a\n"),
    "MyST roles": times("{term}`a` "),
    "open MyST roles": times("{a}`"),
    "MyST roles with targets": inside("{ref}`", "a < ", "`"),
    "reStructuredText": inside("```{eval-rst}\n", ".. toctree::\n\n   a\n", "```\n"),
    "reStructuredText's options": inside("```{eval-rst}\n.. note::\n", "   :a: b\n", "```\n"),
    "documented code": times("::: a.b\n    x: y\n\n"),
    "snippets": numbered('--8<-- "f№.md"\n'),
    "blocks of snippets": times("--8<--\n"),
    "snippets in code": inside("```\n", "--8<--\na\n", "```\n"),
    "includes": numbered("{{#include f№.md}}\n\n"),
    "includes in code": lambda size: "```\n" + numbered("{{#include f№.rs}}\n")(size) + "```\n",
    "open includes": times("{{#include "),
    "abbreviations": numbered("*[A№]: b\n"),
    "contents": times("[TOC]\n"),
    "indented elements": times("<div markdown>\n    x\n\n"),
    "elements one inside the other": deeper("<div markdown>\n", "    "),
    # definitions of terms
    "definitions of terms": numbered("term №\n: it is that\n\n"),
    "definitions of one term": inside("term\n", ": a\n"),
    "definitions apart": times(": a\n\n"),
    "terms of many lines": inside("", "a\n", ": b\n"),
    "terms that wait": times("a\n\n"),
    "nested definitions": times("a\n: "),
    "definitions on one line": times(": "),
    # attributes, entities, escapes, maths
    "attribute lists": times("a{: .b}\n{: #c}\n\n"),
    "open attribute lists": times("{: "),
    "attributes on a line": times("*a*{: .b} "),
    "blanks in an attribute list": inside("# a {:", " ", "\n"),
    "entities": times("&amp;"),
    "unknown entities": times("&a;"),
    "numbers as entities": times("&#65;"),
    "open entities": times("&"),
    "escapes": times("\\*"),
    "backslashes": times("\\"),
    "dollars": times("$"),
    "formulas": times("$a$ b "),
    "open formulas": times("$a "),
    "escaped dollars": inside("$a", "\\$"),
    "display formulas": times("$$\na\n$$\n\n"),
    "open display formulas": times("a\n\n$$\n"),
    "TeX brackets": times("\\\\( "),
    "environments": times("\\begin{align}\n"),
    "keys": times("++ctrl+"),
    "attributes before blocks": times("{.a #b}\n"),
    "ids in an attribute list": inside("{.a", " #b", "}\n"),
    "images with blanks in their path": times("![a](b c.png) "),
    "open images with blanks in their path": times('![a](b c.png "d '),
    "annotations": times("<annotation>a</annotation> "),
    "annotations in code": inside("", "`<annotation>` ", "</annotation>"),
    "open annotations": times("<annotation> "),
    "problems": numbered("# Problem № - a\n\na\n\n"),
    "a problem's brackets": inside("# Problem 1 ", "(", "\n"),
    "marked text": times("==a "),
    "emoji": times(":smile"),
    # front matter
    "plain front matter": lambda size: "---\n" + numbered("key№: text\n")(size) + "---\n\na\n",
    "front matter": lambda size: "---\n" + numbered("key№: [1, 2]\n")(size) + "---\n\na\n",
    "front matter that is not YAML": lambda size: (
        "---\n" + numbered("key№: [text\n")(size) + "---\n\na\n"
    ),
    "open front matter": lambda size: "---\n" + numbered("key№: text\n")(size),
    "nested front matter": inside("---\na: ", "[", "\n---\n\na\n"),
    "front matter of blanks": inside("---\na: ", " ", "b\n---\n\na\n"),
    # what headings make of blocks
    "exercises under a heading": lambda size: "# Exercises\n\n" + numbered("№. Do it.\n")(size),
    "a glossary under a heading": lambda size: (
        "# Glossary\n\n" + numbered("**Term №:** it is that.\n\n")(size)
    ),
    "a glossary's list": lambda size: "# Glossary\n\n" + numbered("- Term №: it is that.\n")(size),
    "references under a heading": lambda size: "# References\n\n" + numbered("- Book №.\n")(size),
    "captions": times("![a](b)\n\n*Figure 1: c*\n\n"),
    "one figure's captions": inside("![a](b)\n\n", "*Figure 1: c*\n\n"),
    "solutions": times("# Exercise 1\n\na\n\n## Solution\n\nb\n\n"),
    "an unclosed title": inside("# see ", "the ", "x\n"),
    "links to anchors that are not there": numbered("[a](#b№)\n\n"),
    "a link again and again": times("[a](#b)\n\n"),
    "abbreviated terms": inside("", "**term** (T) "),
    # what searches of one expression could go over again and again
    "blanks in a heading": inside("# a", " ", "b\n\n"),
    "a heading's long number": lambda size: f"# a_{'1' * (size // 2)}\n\n" * 2,
    "marks behind a glossary's heading": inside("# glossary of ", "!", "x\n"),
    "a summary that says click": inside("<details><summary>", "click ", "x</summary>\n"),
    "a long word in braces": inside("a *b*{", "w", " c\n"),
    "blanks in a role": inside("{ref}`a", " ", "b`"),
    "cells without an angle": inside("<table><tr>", "<td ", "</tr></table>\n"),
    "rows without an angle": inside("<table>", "<tr ", "</table>\n"),
    "comments in an HTML table": inside("<table><tr><td>", "<!-- ", "</td></tr></table>\n"),
    "comments in preformatted text": inside("<pre>", "<!-- ", "</pre>\n"),
    "attribute lists behind one block": inside("a\n\n", "{: #b}\n\n"),
    "colons round tags": lambda size: (
        "::::note\n" + "<div>\n" * (size // 10) + ":::\n" * (size // 10)
    ),
}
