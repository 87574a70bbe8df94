"""Turns headings into the questions that their sections answer.

"Why not index whole chapters?" is a question. In English so are "How to choose a size" and
"Building the index". All other headings are none.
"""

from __future__ import annotations

import re

_DETERMINED = (
    "build run train test read change turn deploy update remove load save call start stop check"
    " set get compile launch override overwrite render share sort store track view wrap"
)
_VERBS = (
    "add apply avoid choose compress compute configure convert create define design detect find"
    " give handle implement import improve install keep know make measure merge prevent reduce"
    " refactor replace show solve split use validate write"
)
"""Verbs of headings such as "Merging lists". Those of `_DETERMINED` need an article, because their
gerund also qualifies a noun: "Running time", "Building blocks"."""

_ARTICLE = r"(?:an?|the|your|our|my)\s"


def _gerund(verb: str) -> str:
    if re.fullmatch(r"[^aeiou]*[aeiou][^aeiouwxy]|split|refer", verb):
        return f"{verb}{verb[-1]}ing"
    return f"{verb.removesuffix('e')}ing"


_BY_GERUND = {_gerund(verb): verb for verb in f"{_DETERMINED} {_VERBS}".split()}
_GERUNDS = (
    rf"(?P<gerund>{'|'.join(map(_gerund, _VERBS.split()))}"
    rf"|(?:{'|'.join(map(_gerund, _DETERMINED.split()))})(?=\s{_ARTICLE}))"
)
_IMPERATIVES = rf"(?P<verb>{'|'.join(_BY_GERUND.values())})(?=\s{_ARTICLE})"
_SEVERAL = re.compile(r"[:;]|\b(?:and|or)\s+\w+ing\b|\w+ing\s+(?:and|or)\b", re.IGNORECASE)
"""Headings with a label or two actions."""

_TITLE_CASE = re.compile(r"(?:\S{1,4}|[^a-z\s]\S*)(?:\s(?:\S{1,4}|[^a-z\s]\S*))*")
_TO_DO = re.compile(
    rf"(?:{_GERUNDS}|how\sto\s(?P<how>\w+)|{_IMPERATIVES})\s(?P<rest>.+)", re.IGNORECASE
)


def heading_question(heading: str, language: str, text: str) -> str:
    """Return the question, or "" if the heading makes none.

    `heading` has no number; `text` is that of its section.
    """
    if heading.endswith("?"):
        return heading if language != "en" or not heading.endswith(" ?") else ""
    match = _TO_DO.fullmatch(heading)
    if language != "en" or _SEVERAL.search(heading) or not match:
        return ""
    verb = _BY_GERUND.get((match["gerund"] or "").lower()) or match["how"] or match["verb"]
    asked = f"How do I {verb.lower()} {sentence_case(match['rest'], text)}?"
    return re.sub(r"\byour\b", "my", asked)


def sentence_case(heading: str, text: str) -> str:
    """Write a heading as it stands in a sentence.

    In a Title Case Heading each word loses its capital that `text` does not have only with one; in
    another heading the first word does.
    """
    said = set(re.findall(r"\b[^\W\d_][\w'\u2019-]*", re.sub(r"`[^`]*`", "", text)))

    def written(match: re.Match[str]) -> str:
        lower = match[0].lower()
        return match[0] if match[0] in said and lower not in said else lower

    begin = "" if _TITLE_CASE.fullmatch(heading) else r"\A"
    return re.sub(rf"{begin}\b(?:[A-Z][a-z'\u2019-]+(?!\w)|A(?=\s))", written, heading)
