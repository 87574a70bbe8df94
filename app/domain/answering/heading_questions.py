"""Turns headings into the questions that their sections answer.

"Why not index whole chapters?" is a question. In English so are "What k1 does", "How the book is
built", "How to choose a size" and "Building the index". All other headings are none.
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
_FINITE = "is|are|do|does|did|can|should|was|were|goes|happens|makes|causes"
_SUBJECT = r"(?P<subject>(?:\S+\s){0,3}?\S+)"
_SEVERAL = re.compile(r"[:;]|\b(?:and|or)\s+\w+ing\b|\w+ing\s+(?:and|or)\b", re.IGNORECASE)
"""Headings with a label or two actions."""

_TITLE_CASE = re.compile(r"(?:\S{1,4}|[^a-z\s]\S*)(?:\s(?:\S{1,4}|[^a-z\s]\S*))*")
_PATTERNS = tuple(
    (re.compile(pattern, re.IGNORECASE), question)
    for pattern, question in (
        (rf"{_GERUNDS}\s(?P<rest>.+)", "How do I {verb} {rest}?"),
        (rf"(?:how\sto\s(?P<how>\w+)|{_IMPERATIVES})\s(?P<rest>.+)", "How do I {verb} {rest}?"),
        (
            rf"(?P<first>what|why|how|when|where|which|who)\s(?P<rest>(?:{_FINITE})\s.+)",
            "{first} {rest}?",
        ),
        (
            rf"(?P<first>what|why|how|where)\s{_SUBJECT}\s(?P<aux>is|are|was|were)(?P<rest>(?:\s.+)?)",
            "{first} {aux} {subject}{rest}?",
        ),
        (rf"what\s{_SUBJECT}\sdoes", "What does {subject} do?"),
        (rf"how\s{_SUBJECT}\sworks", "How does {subject} work?"),
    )
)


def heading_question(heading: str, language: str, text: str) -> str:
    """Return the question, or "" if the heading makes none.

    `heading` has no number; `text` is that of its section.
    """
    if heading.endswith("?"):
        return heading if language != "en" or not heading.endswith(" ?") else ""
    if language != "en" or _SEVERAL.search(heading):
        return ""
    for pattern, question in _PATTERNS:
        if match := pattern.fullmatch(heading):
            return _filled(question, match, text)
    return ""


def _filled(question: str, match: re.Match[str], text: str) -> str:
    parts = {name: sentence_case(said, text) for name, said in match.groupdict("").items()}
    verb = (
        _BY_GERUND.get(parts.get("gerund", "").lower()) or parts.get("how") or parts.get("verb", "")
    )
    asked = question.format(**{**parts, "verb": verb.lower()})
    return re.sub(r"\byour\b", "my", asked[0].upper() + asked[1:])


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
