r"""Removes links from a generated answer: the model is told to write none, and citations lead on.

Each unit is read as CommonMark, with what renderers do that turn addresses in text into links. A
link is replaced by its label, an image by its alternative text, an address by
"(link removed)" or, if the book's text has it too, by code. HTML and link definitions are escaped.
Code and all other text stays unchanged. Where the text on both sides could form new mark-up, a
replacement contains a space or parentheses.

Link syntax is that of CommonMark, of GitHub's autolinks and of other renderers that link addresses.
An address may be written with character references and backslashes: `https&#58;\//host`.
CommonMark: https://spec.commonmark.org/0.31.2/, autolinks: https://github.github.com/gfm/.
"""

import html
import re

from app.domain.generated_text.markup import CODE_SPAN, at_margin
from app.domain.terms import WIDE_STOPS

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
"""A space behind each keeps a text from being parsed as a link or HTML, inside or outside code."""
_MENTIONED = re.compile(r"(?:https?|ftp|wss?|file)://[^\s<>\"'`)\]}|*]+|www\.[^\s<>\"'`)\]}|*]+")


def hides_an_address(reference: str) -> bool:
    """Whether a character reference encodes a character that needs no encoding."""
    character = html.unescape(reference)
    return character.isascii() and (character.isalnum() or not character.strip(":/.@\\- \t\n"))


REMOVED_LINK, REMOVED_IMAGE = "(link removed)", "(image removed)"
_ADDRESS_MARKS = frozenset(":/.\\&#?@%<")


class LinkPolicy:
    """Decides unit by unit what is shown."""

    def __init__(self, book_text: str = "") -> None:
        """Addresses of `book_text` may be shown, as code."""
        self._mentioned = {one.rstrip(_TRAILING) for one in _MENTIONED.findall(book_text)}
        self._last = "\n"
        self._cells = False
        """A code span of the line has a `|`: in a table row the cells end there, so that code after
        it may be text."""

    def shown(self, text: str, *, fence: bool = False) -> str:
        """Return what is shown of the next unit: a sentence, a line or, maybe, a fence of code.

        A unit that does not follow a blank or the end of a sentence gets a blank before it.
        """
        last, self._last = self._last, text[-1:] or self._last
        if fence and (code := at_margin(text)):
            return code
        if last == "\n":
            self._cells = False
        elif not last.isspace() and last not in WIDE_STOPS:
            text = f" {text}"
        return HTML.sub(self._html, CONSTRUCT.sub(self._construct, text))

    def _construct(self, found: re.Match[str]) -> str:
        whole = found[0]
        if found["code"]:
            self._cells = self._cells or "|" in whole
            return _LIVE.sub(r"\g<0> ", whole) if self._cells else whole
        if found["ticks"]:
            return "".join(f"\\{one}" for one in whole)
        if address := found["autolink"] or found["address"]:
            return self._address(found, address)
        if found["label"] is not None:
            return self._link(found)
        if found["bracket"]:
            return f"{whole} " if found.string.startswith("(", found.end()) else f"{whole}\\"
        hidden = found["reference"] and hides_an_address(whole)
        return f"\\{whole}" if hidden else whole

    def _link(self, found: re.Match[str]) -> str:
        written, label, whole = found["target"], found["label"], found[0]
        if written.strip("<>") and _ADDRESS_MARKS.isdisjoint(written):
            return whole.replace("](", "] (", 1)  # f[x](t) of a formula, rather than a link
        if HAS_ADDRESS.search(label) or not label.strip():
            return _apart(found, REMOVED_IMAGE if found["image"] else REMOVED_LINK)
        return label if _reads_alone(found) else _apart(found, f"({label})")

    def _address(self, found: re.Match[str], written: str) -> str:
        """Return the replacement of an address; punctuation behind it stays."""
        address = written.rstrip(_TRAILING) or written
        text, (start, end) = found.string, found.span()
        beside = text[max(0, start - 1) : start], text[end : end + 1]
        as_code = address in self._mentioned and "`" not in beside and not self._cells
        shown = f"`{address}`" if as_code else _apart(found, REMOVED_LINK)
        return shown + written[len(address) :]

    def _html(self, found: re.Match[str]) -> str:
        if found["begins"] is not None:
            return f"{found['begins']}\\<"
        return f"\\{found[0]}" if found["tag"] or found["autolink"] else found[0]


def _apart(found: re.Match[str], put: str) -> str:
    """Return the text, with a space before it if a `]` would make it a link target."""
    return f" {put}" if found.string[: found.start()].endswith("]") else put


def _reads_alone(link: re.Match[str]) -> bool:
    """Whether the label needs no parentheses: its words are apart from the text around it."""
    text, label = link.string, link["label"]
    mark, after = text[link.end() : link.end() + 1], text[link.end() + 1 : link.end() + 2]
    ends = not mark.strip() or (mark in ".,;:!?)" and not after.strip())
    words = label[0].isalnum() and label[-1].isalnum()
    return words and ends and not text[max(0, link.start() - 1) : link.start()].strip()
