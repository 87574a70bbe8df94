r"""Link syntax of CommonMark, of GitHub's autolinks and of other renderers that link addresses.

An address may be written with character references and backslashes: `https&#58;\//host`.
CommonMark: https://spec.commonmark.org/0.31.2/, autolinks: https://github.github.com/gfm/.
"""

from __future__ import annotations

import html
import re

_CHARACTER = r"(?:\\?{0}|&(?:{1}|#0{{0,6}}{2}|#[xX]0{{0,6}}{3});)"
_COLON = _CHARACTER.format(":", "colon", "58", "3[aA]")
_SLASH = _CHARACTER.format("/", "sol", "47", "2[fF]")
_DOT = _CHARACTER.format(r"\.", "period", "46", "2[eE]")
_AT = _CHARACTER.format("@", "commat", "64", "40")
_HOST = rf"[\w-]+(?:{_DOT}[\w-]+)+"
_LOCAL_PART = r"(?<=[A-Za-z0-9.!#$%&'*+/=?^_{|}~-])"

_BEGINNINGS = (
    *("https", "http", "ftp", "file", "wss", "ws", "www"),
    *("mailto", "xmpp", "tel", "javascript", "vbscript", "data"),
)
_UNFINISHED = sorted({one[:end] for one in _BEGINNINGS for end in range(1, len(one) + 1)})
SPECIAL = re.compile(
    r"[\\`\[\]<&\n@:]|!(?=\[|\Z)|/(?=[/\\&]|\Z)|(?<![A-Za-z0-9])(?=[dfhjmtvwx])"
    rf"(?:(?:{'|'.join(_BEGINNINGS)})(?=[:.\\&])|(?:{'|'.join(_UNFINISHED)})\Z)",
    re.IGNORECASE,
)
"""Characters at which the scanner of prose stops."""

ADDRESS = re.compile(
    rf"(?:(?:https?|ftp|file|wss?){_COLON}{_SLASH}{_SLASH}(?=\S)|www{_DOT}(?=\w)"
    rf"|(?:mailto|xmpp|tel|javascript|vbscript){_COLON}(?=[^\s*_`])"
    rf"|data{_COLON}(?:text|image|application|audio|video|font){_SLASH}"
    rf"|(?<![^\W_])(?<!:){_SLASH}{_SLASH}(?=\w\S*?(?:{_DOT}\S|localhost)|localhost)"
    rf"|{_COLON}{_SLASH}{_SLASH}(?=\S)|{_LOCAL_PART}{_AT}{_HOST})",
    re.IGNORECASE,
)
"""Start of an address in text, or the rest of one with an unknown scheme."""
_MAYBE_CHARACTER = r"(?:\\[:/.@]?|[:/.@]|&#?\w{0,9};?)"
MAYBE_ADDRESS = re.compile(
    rf"(?:[A-Za-z]{{1,10}})?{_MAYBE_CHARACTER}{{0,3}}\w{{0,11}}|(?!\\?:){_MAYBE_CHARACTER}{{1,2}}\S*"
)
"""Text that more text may complete to the start of an address."""
BODY = re.compile(r"[^\s<>\"'`)\]}|*]*")
"""The rest of an address that is removed."""
TOKEN = re.compile(r"(?:(?!\]\()\S)*")
AFTER = re.compile(r"[)\]\"']{0,2}[.,;?!]?")
"""Marks after an address that no renderer counts as part of it."""
_TRAILING = ".,;:!?*_~'\")]"

_ATTRIBUTE_NAME = r"\s+[A-Za-z_:][A-Za-z0-9_.:-]*"
_ATTRIBUTE_VALUE = r"\s*=\s*(?:[^\s\"'=<>`]+|'[^']*'|\"[^\"]*\")"
_OPENED_TAG = rf"<[A-Za-z][A-Za-z0-9-]*(?:{_ATTRIBUTE_NAME}(?:{_ATTRIBUTE_VALUE})?)*"
TAG = re.compile(rf"{_OPENED_TAG}\s*/?>")
MAYBE_TAG = re.compile(rf"{_OPENED_TAG}(?:{_ATTRIBUTE_NAME}\s*=\s*(?:'[^']*|\"[^\"]*)?)?\s*/?")
_MAILBOX = r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+"
AUTOLINK = re.compile(rf"<(?:[A-Za-z][A-Za-z0-9+.-]{{1,31}}:[^\s<>]*|{_MAILBOX}@[A-Za-z0-9.-]+)>")
MAYBE_AUTOLINK = re.compile(rf"<{_MAILBOX}(?:[:@][^\s<>]*)?")

_LINK_TITLE = r"(?:\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|\((?:[^()\\]|\\.)*\))"
_PLAIN = r"[^\s()\\]|\\\S|\\(?=\s)"
_DESTINATION = rf"(?:<(?:[^<>\n\\]|\\.)*>|(?!<)(?:{_PLAIN}|\((?:{_PLAIN}|\((?:{_PLAIN})*\))*\))*)"
LINK_TAIL = re.compile(rf"\([ \t]*({_DESTINATION})(?:[ \t]+{_LINK_TITLE})?[ \t]*\)")
NO_LINK_TAIL = re.compile(r"\([ \t]*[^\s()<]+[ \t]+[^\s\"'()]")
"""Parentheses that contain no link target."""
DEFINITION = re.compile(rf"[ \t]*(?:<[^<>\n]*>|[^\s<]\S*)?(?:[ \t]+{_LINK_TITLE})?[ \t]*")
"""The rest of a link definition after `[label]:`, up to the end of the line."""
NO_DEFINITION = re.compile(r"[ \t]*[^\s<]\S*[ \t]+\w+[ \t,;]")
CONTENT_PREFIX = re.compile(r"[ \t>*+\-0-9.)]*")
"""What may precede the content of a line."""

REFERENCE = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
MAYBE_REFERENCE = re.compile(r"&#?[A-Za-z0-9]{0,32}")
_ESCAPE = re.compile(rf"\\([!-/:-@\[-`{{-~])|{REFERENCE.pattern}")
_LIVE = re.compile(
    r"<(?=[A-Za-z/!?])|\](?=[(:\[])|:(?=\\?/|&)|/(?=\\?/|&)|(?<=www)\.|(?<=\w)@"
    r"|&(?=[#A-Za-z])|(?<=script):|(?<=mailto):|(?<=data):",
    re.IGNORECASE,
)
_MENTIONED = re.compile(r"(?:https?|ftp|wss?|file)://[^\s<>\"'`)\]}|*]+|www\.[^\s<>\"'`)\]}|*]+")


def decoded(address: str) -> str:
    """Return the address without backslashes and character references."""
    return _ESCAPE.sub(lambda found: found[1] or html.unescape(found[0]), address)


def forms(url: str) -> set[str]:
    """Return the address of a passage with and without its text fragment."""
    return {url, url.partition(":~:text=")[0].removesuffix("#")}


def mentions(text: str, address: str) -> bool:
    """Whether the text has this address, and not only as part of a longer one."""
    return address in text and address in {
        one.rstrip(_TRAILING) for one in _MENTIONED.findall(text)
    }


def hides_an_address(reference: str) -> bool:
    """Whether a character reference encodes a character that needs no encoding."""
    character = html.unescape(reference)
    return character.isascii() and (character.isalnum() or not character.strip(":/.@\\- \t\n"))


def spread(text: str) -> str:
    """Insert spaces, so that the text is not parsed as a link or HTML, inside or outside code."""
    return _LIVE.sub(r"\g<0> ", text)
