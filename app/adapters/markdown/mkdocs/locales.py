"""The locales of a MkDocs site, as the plugin mkdocs-static-i18n builds them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from app.adapters.markdown.site_map import table

_LOCALE = re.compile(r"[a-z]{2}(?:-[A-Za-z]{4})?(?:[-_][A-Z]{2})?")


@dataclass(frozen=True, slots=True)
class Locales:
    """The locales that are built, each with its own options, the default one first."""

    options: Mapping[str, Mapping[str, object]]
    by_folder: bool
    """Whether a locale has a folder of its own; otherwise its files end in `.LOCALE.md`."""
    falls_back: bool
    """Whether pages that are not translated are shown in the default language."""

    @property
    def default(self) -> str:
        return next(iter(self.options))

    def split(self, file: str) -> tuple[str, str]:
        """Return a file's locale, "" if it names none, and its path without the locale."""
        path = PurePosixPath(file)
        if self.by_folder:
            locale, _, rest = file.partition("/")
            return (locale, rest) if rest and self._is_locale(locale) else ("", file)
        locale = PurePosixPath(path.stem).suffix[1:]
        if not self._is_locale(locale):
            return "", file
        return locale, str(path.with_name(path.stem[: -len(locale) - 1] + path.suffix))

    def _is_locale(self, name: str) -> bool:
        return name in self.options or _LOCALE.fullmatch(name) is not None

    def shown(self, locale: str, files: Iterable[str]) -> dict[str, str]:
        """Return the file that a locale shows for each path, without what is not translated."""
        found: dict[str, dict[str, str]] = {}
        for file in files:
            own, path = self.split(file)
            found.setdefault(own, {})[path] = file
        common = found.get("", {})
        if locale == self.default or self.falls_back:
            common = common | found.get(self.default, {})
        elif not self.by_folder:
            common = {}  # a file without a locale is in the default language
        return common | found.get(locale, {})


def read_locales(plugins: object) -> Locales | None:
    """Return the locales that `plugins` of `mkdocs.yml` configures; None if there is one."""
    config = _i18n(plugins)
    languages = config.get("languages")
    listed = [table(one) for one in (languages if isinstance(languages, list) else [])]
    built = [one for one in listed if one.get("build") is not False and one.get("locale")]
    built.sort(key=lambda one: one.get("default") is not True)
    options = {str(one["locale"]): one for one in built}
    if len(options) < 2 or built[0].get("default") is not True:
        return None
    by_folder = config.get("docs_structure") == "folder"
    return Locales(options, by_folder, config.get("fallback_to_default") is not False)


def _i18n(plugins: object) -> dict[str, object]:
    if isinstance(plugins, dict):
        return table(plugins, "i18n")
    entries = plugins if isinstance(plugins, list) else []
    return next((table(one, "i18n") for one in entries if table(one, "i18n")), {})
