"""Reads the values in JSON files, and, leniently, the object literals in JavaScript files.

Nothing is executed: calls and other expressions read as None, except a name or template of
constants whose values are strings, the path in `require.resolve(...)` and
`path.resolve(__dirname, ...)`, and, in a module, names of its literals and of imported ones.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from app.adapters.markdown.parser.tags import unescape_string
from app.adapters.markdown.source import well_formed_value

_TOKEN = re.compile(
    r"(?P<space>\s+|//[^\n]*|/\*.*?(?:\*/|\Z))"
    r"|(?:require\.resolve|path\.(?:resolve|join))\(\s*(?:__dirname\s*,\s*)?"
    r"(?P<resolved>\"[^\"\n]*\"|'[^'\n]*')\s*\)"
    r"|(?P<string>\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)"
    r"|(?P<number>-?\d+(?:\.\d+)?)"
    r"|(?P<name>[A-Za-z_$][\w$]*)"
    r"|(?P<other>\.\.\.|=>|\\.|.)",
    re.S,
)
_MAX_DEPTH = 60
_MOST_CHARACTERS = 250
"""Length of a constant and of a filled template, which may contain others."""
_MOST_KEYS = 100
"""Number of keys of an object that spreads another."""
_CONSTANT = re.compile(
    r"^(?:export\s+)?const\s+(?P<name>[A-Za-z_$][\w$]*)(?:\s*:\s*string)?\s*=\s*"
    r"(?P<value>\"[^\"\\\n]*\"|'[^'\\\n]*'|`[^`\\]*`)[^\S\n]*+;?[^\S\n]*+$",
    re.M,
)
_PLACEHOLDER = re.compile(r"\$\{\s*+(?P<name>[\w$]*+)\s*+\}")
_START = re.compile(
    r"(?:module\.exports\s*=|export\s+default"
    r"|(?:const|let|var)\s+(?P<name>\w+)(?:\s*:\s*[\w.<>]+)?\s*=)\s*(?=[{\[])"
)
_DEFAULT = re.compile(
    r"(?:module\.exports\s*=|export\s+default)\s+(?P<name>[\w$]+)\s*(?:;|$)", re.M
)


_KEYWORDS: Mapping[str, object] = {"true": True, "false": False}


def parse_json(text: str) -> object:
    """Return the value in a JSON text; None if it is invalid."""
    try:
        return well_formed_value(json.loads(text))
    except (ValueError, RecursionError):
        return None


def string(value: object) -> str:
    """Return a value if it is a string, else ""."""
    return value if isinstance(value, str) else ""


def read_module(source: str, imported: Mapping[str, object]) -> dict[str, object]:
    """Return the values of a module's names, and its default export as "default".

    Without one that can be read, it is the largest literal of the file.
    """
    names: dict[str, object] = {**_KEYWORDS, **imported, **_constants(source)}
    default: object = None
    largest = -1
    for name, value, size in _literals(source, names):
        if name:
            names[name] = value
        if size > largest or not name:
            default, largest = value, size if name else len(source)
    exported = _DEFAULT.search(source)
    value = names.get(exported["name"]) if exported else None
    return {**names, "default": value if isinstance(value, (dict, list)) else default}


def _constants(source: str) -> dict[str, str]:
    """Return the constants whose values are strings."""
    constants: dict[str, str] = {}
    for constant in _CONSTANT.finditer(source):
        text = _string(constant["value"], constants)
        if text is not None and len(text) <= _MOST_CHARACTERS:
            constants[constant["name"]] = text
    return constants


def _literals(source: str, names: Mapping[str, object]) -> Iterator[tuple[str, object, int]]:
    """Yield each literal's name ("" for the default export), its value and its length."""
    read = 0
    for match in _START.finditer(source):
        if match.start() < read:
            continue  # inside a literal that was read already
        reader = _LiteralReader(source, match.end(), names)
        value = reader.value(0)
        read = reader.position
        yield match["name"] or "", value, read - match.end()


def _string(token: str, names: Mapping[str, object]) -> str | None:
    """Return the text of a string or template.

    None if a template has other expressions, or is too long once it is filled.
    """
    text = unescape_string(token[1:-1])
    if not token.startswith("`") or "${" not in text:
        return text
    if sum(len(string(names.get(name))) for name in _PLACEHOLDER.findall(text)) > _MOST_CHARACTERS:
        return None
    filled = _PLACEHOLDER.sub(lambda match: string(names.get(match["name"])) or match[0], text)
    return None if "${" in filled else filled


class _LiteralReader:
    def __init__(self, source: str, position: int, names: Mapping[str, object]) -> None:
        self._source = source
        self._names = names
        self.position = position
        self.kind = ""
        self.token = ""
        self._next()

    def _next(self) -> None:
        while True:
            match = _TOKEN.match(self._source, self.position)
            if match is None:
                self.kind, self.token = "end", ""
                return
            self.position = match.end()
            if match["resolved"]:
                self.kind, self.token = "string", match["resolved"]
                return
            if match.lastgroup != "space":
                self.kind, self.token = match.lastgroup or "", match.group()
                return

    def value(self, depth: int) -> object:
        """Read an expression; the current token is then the one after it."""
        named = self.kind == "name"
        value = self._primary(depth)
        if self.kind == "end" or self.token in (",", "]", "}", ")", ";"):
            return value
        if depth == 0 and value is not None:
            return value
        cast = self.token in ("as", "satisfies")
        self._skip()
        return value if isinstance(value, (dict, list)) and (cast or not named) else None

    def _primary(self, depth: int) -> object:
        if depth > _MAX_DEPTH:
            self.kind, self.token = "end", ""
            return None
        if self.token == "{":
            return self._object(depth)
        if self.token == "[":
            return self._array(depth)
        if self.token == "(":
            self._next()
            inner = self.value(depth + 1)
            if self.token == ")":
                self._next()
            return inner
        if self.kind not in ("string", "number") and self.token not in self._names:
            return None
        value = self._atom()
        self._next()
        return value

    def _atom(self) -> object:
        if self.kind == "string":
            return _string(self.token, self._names)
        return float(self.token) if self.kind == "number" else self._names[self.token]

    def _object(self, depth: int) -> dict[str, object]:
        result: dict[str, object] = {}
        self._next()
        while self.kind != "end" and self.token != "}":
            before = self.position
            key = self.token[1:-1] if self.kind == "string" else self.token
            named = self.kind in ("string", "name", "number")
            if named:
                self._next()
            if named and self.token == ":":
                self._next()
                result[key] = self.value(depth + 1)
            elif named and self.token in (",", "}") and key in self._names:
                result[key] = self._names[key]
            elif key == "...":
                self._next()
                spread = self.value(depth + 1)
                if isinstance(spread, dict) and len(result) + len(spread) <= _MOST_KEYS:
                    result |= spread
            elif self.token not in (",", ";", "}"):
                self._skip()
            self._past_separator(before, "}")
        self._next()
        return result

    def _array(self, depth: int) -> list[object]:
        result: list[object] = []
        self._next()
        while self.kind != "end" and self.token != "]":
            before = self.position
            if self.token != ",":
                result.append(self.value(depth + 1))
            self._past_separator(before, "]")
        self._next()
        return result

    def _past_separator(self, before: int, closing: str) -> None:
        """Skip a comma, and any token that the reader did not consume."""
        stuck = self.position == before and self.token != closing
        if self.token in (",", ";") or (stuck and self.kind != "end"):
            self._next()

    def _skip(self) -> None:
        """Skip to the end of the current expression."""
        depth = 0
        while self.kind != "end":
            if self.token in ("{", "[", "("):
                depth += 1
            elif self.token in ("}", "]", ")"):
                if depth == 0:
                    return
                depth -= 1
            elif self.token == "," and depth == 0:
                return
            self._next()
