r"""Link syntax of CommonMark, of GitHub's autolinks and of other renderers that link addresses.

An address may be written with character references and backslashes: `https&#58;\//host`.
CommonMark: https://spec.commonmark.org/0.31.2/, autolinks: https://github.github.com/gfm/.
"""

from __future__ import annotations

import html
import re

from app.domain.generated_text.fences import CODE_SPAN

_CHARACTER = r"(?:\\?{0}|&(?:{1}|#0{{0,6}}{2}|#[xX]0{{0,6}}{3});)"
_COLON = _CHARACTER.format(":", "colon", "58", "3[aA]")
_SLASH = _CHARACTER.format("/", "sol", "47", "2[fF]")
_DOT = _CHARACTER.format(r"\.", "period", "46", "2[eE]")
_AT = _CHARACTER.format("@", "commat", "64", "40")
ADDRESS = (
    rf"(?:(?<![A-Za-z0-9])(?:(?:https?|ftp|file|wss?){_COLON}{_SLASH}{_SLASH}(?=\S)|www{_DOT}(?=\w)"
    rf"|(?:mailto|xmpp|tel|javascript|vbscript){_COLON}(?=_*[^\s*_`])"
    rf"|data{_COLON}(?:text|image|application|audio|video|font){_SLASH})"
    rf"|(?<![^\W_])(?<!:){_SLASH}{_SLASH}(?=\S*?(?:@|{_DOT}\S|localhost))"
    rf"|{_COLON}{_SLASH}{_SLASH}(?=\S)"
    rf"|(?<=[A-Za-z0-9.!#$%&'*+/=?^_{{|}}~-]){_AT}[\w-]+(?:{_DOT}[\w-]+)+)"
)
"""Start of an address in text, or the rest of one with an unknown scheme."""
HAS_ADDRESS = re.compile(ADDRESS, re.IGNORECASE)
_BODY = r"[^\s<>\"'`)\]}|*]*"
_TRAILING = ".,;:!?*_~'\")]"

_TITLE = r"(?:\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|\((?:[^()\\\n]|\\.)*\))"
_PLAIN = r"[^\s()\\]|\\\S|\\(?=\s)"
_TARGET = rf"(?:<(?:[^<>\n\\]|\\.)*>|(?!<)(?:{_PLAIN}|\((?:{_PLAIN}|\((?:{_PLAIN})*\))*\))*)"
_SCHEME = r"[A-Za-z][A-Za-z0-9+.-]{1,31}:"
_MAILBOX = r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@"
_ESCAPED = r"\\[!-/:-@\[-`{-~]"
_REFERENCE = r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});"
_WORDS = r"[ \t]*[^\s<]\S*[ \t]+\w+[ \t,;]"
CONSTRUCT = re.compile(
    rf"(?=[`~<!\[\]:/@&\\dfhjmtvwx])(?:(?P<code>{CODE_SPAN})|(?P<ticks>`+|~{{3,}})"
    rf"|<(?P<autolink>(?:{ADDRESS}|{_MAILBOX})[^\s<>]*)>|(?P<address>{ADDRESS}{_BODY})|{_ESCAPED}"
    rf"|(?P<image>!?)\[(?P<label>[^\[\]\\`<>&\n]*)\]"
    rf"\([ \t]*(?P<target>{_TARGET})(?:[ \t]+{_TITLE})?[ \t]*\)"
    rf"|(?P<bracket>\])(?=\(|:(?!{_WORDS}))|(?P<reference>{_REFERENCE}))",
    re.IGNORECASE,
)
"""What the link policy looks at in prose. A `bracket` may end the label of a link definition,
unless two words follow the colon, or of a link that is not simple."""

_ATTRIBUTE = r"\s+[A-Za-z_:][A-Za-z0-9_.:-]*"
_VALUE = r"\s*=\s*(?:[^\s\"'=<>`]+|'[^'\n]*'|\"[^\"\n]*\")"
_UNENDED = rf"(?:{_ATTRIBUTE}[^\S\n]*=[^\S\n]*(?:'[^'\n]*|\"[^\"\n]*)?)?\s*/?\s*$"
_AUTOLINK = rf"(?:{_SCHEME}|{_MAILBOX})[^\s<>]*"
HTML = re.compile(
    rf"(?P<begins>^[ \t>*+\-0-9.)]*+)(?!<{_AUTOLINK}>)<(?=[A-Za-z])"
    rf"|(?P<code>{CODE_SPAN})|{_ESCAPED}|<(?P<autolink>{_AUTOLINK})>"
    rf"|(?P<tag><(?=[!?]|/[A-Za-z]|{_AUTOLINK}$"
    rf"|[A-Za-z][A-Za-z0-9-]*(?:{_ATTRIBUTE}(?:{_VALUE})?)*(?:\s*/?>|{_UNENDED})))",
    re.MULTILINE,
)
"""A `tag`, comment or the like, also one that the next line may end; where the content of a line
`begins`, any bracket before a letter."""

_LIVE = re.compile(
    r"<(?=[A-Za-z/!?])|\](?=[(:\[])|:(?=\\?/|&)|/(?=\\?/|&)|(?<=www)\.|(?<=\w)@"
    r"|&(?=[#A-Za-z])|(?<=script):|(?<=mailto):|(?<=data):",
    re.IGNORECASE,
)
_MENTIONED = re.compile(r"(?:https?|ftp|wss?|file)://[^\s<>\"'`)\]}|*]+|www\.[^\s<>\"'`)\]}|*]+")


def addresses(text: str) -> frozenset[str]:
    """Return the web addresses that the text has."""
    return frozenset(one.rstrip(_TRAILING) for one in _MENTIONED.findall(text))


def hides_an_address(reference: str) -> bool:
    """Whether a character reference encodes a character that needs no encoding."""
    character = html.unescape(reference)
    return character.isascii() and (character.isalnum() or not character.strip(":/.@\\- \t\n"))


def spread(text: str) -> str:
    """Insert spaces, so that the text is not parsed as a link or HTML, inside or outside code."""
    return _LIVE.sub(r"\g<0> ", text)
