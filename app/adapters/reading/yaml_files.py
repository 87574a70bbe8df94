"""Loads YAML; many aliases, whose values can multiply, are refused."""

import yaml

from app.domain.characters import well_formed
from app.domain.errors import BookError, FileRefused
from app.domain.reading_budget import BUDGET, check_size, is_small_number

_MOST_ALIASES = 10
"""Nested in the worst way, they multiply a value 36 times."""
_ALIASES = f"over {_MOST_ALIASES} YAML aliases (*name): write their values out"
_DEEP = f"lists and tables over {BUDGET.depth} deep in YAML: nest fewer"


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """A safe loader for which a tag that it does not know has no value."""


_Loader.add_multi_constructor("", lambda *_: None)


def read_yaml(text: str, file: str, first_line: int = 1) -> object:
    """Parse YAML that begins on this line of a file. BookError, with the line, if it is invalid.

    FileRefused if it exceeds the budget. Tags that only a generator knows (`!ENV`,
    `!!python/name:...`) have no value.
    """
    check_size(len(text), BUDGET.settings, file)
    try:
        _require_few_aliases(text, file, first_line)
        return well_formed_value(yaml.load(text, Loader=_Loader))  # noqa: S506 - a safe loader
    except FileRefused:
        raise
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = first_line + mark.line if mark is not None else 0
        raise BookError(f"is not YAML: {getattr(error, 'problem', error)}", file, line) from error


def _require_few_aliases(text: str, file: str, first_line: int) -> None:
    depth = aliases = 0
    for event in yaml.parse(text, Loader=_Loader):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        aliases += isinstance(event, yaml.AliasEvent)
        if aliases > _MOST_ALIASES or depth > BUDGET.depth:
            problem = _DEEP if depth > BUDGET.depth else _ALIASES
            line = event.start_mark.line if event.start_mark else 0
            raise FileRefused(problem, file, first_line + line)


def well_formed_value(value: object) -> object:
    """Replace lone surrogates, which escapes can produce, in the texts of a loaded value.

    Numbers over 64 bits become text.
    """
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, list):
        return list(map(well_formed_value, value))
    if isinstance(value, dict):
        return {well_formed_value(key): well_formed_value(one) for key, one in value.items()}
    if isinstance(value, int | float) and not is_small_number(value):
        return str(value)
    return value
