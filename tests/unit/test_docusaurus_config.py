"""The configuration of a Docusaurus site: its docs plugins, and settings that are computed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from time import process_time

import pytest

from app.adapters.markdown import editions_of, read_book
from app.adapters.markdown.docusaurus.javascript import read_module
from app.domain.edition import Edition
from app.domain.errors import BookError

CONFIG = """const route = '/course/';
const base = { sidebarPath: require.resolve('./sidebars.js') };
export default {
  title: 'Lamps', url: 'https://lamps.example', baseUrl: route,
  presets: [['classic', { docs: { sidebarPath: './sidebars.js' }, blog: {} }]],
  plugins: [
    ['@docusaurus/plugin-content-docs', { id: 'api', path: 'reference', routeBasePath: 'api',
      sidebarPath: require.resolve('./sidebars-api.js') }],
    [require.resolve('@docusaurus/plugin-content-docs'),
      { id: 'sdk', path: 'sdk', routeBasePath: 'sdk' }],
  ],
};
"""
FILES = {
    "docusaurus.config.js": CONFIG,
    "sidebars.js": "module.exports = { docs: ['wicks'] };",
    "sidebars-api.js": "module.exports = { api: ['trim', { 'Light': ['burn'] }] };",
    "versions.json": '["1.0"]',
    "docs/wicks.md": "# Wicks\n\nThe wick is trimmed every nine hours.\n",
    "versioned_docs/version-1.0/wicks.md": "# Wicks\n\nThe wick is trimmed every four hours.\n",
    "reference/burn.md": "# burn()\n\nLights the lamp.\n",
    "reference/trim.md": "# trim()\n\nShortens the wick.\n",
    "sdk_versions.json": '["2.0", "1.9"]',
    "sdk/setup.md": "# Setup\n\nNot released yet.\n",
    "sdk_versioned_docs/version-2.0/setup.md": "# Setup\n\nUnpack the box.\n",
    "sdk_versioned_docs/version-1.9/setup.md": "# Setup\n\nUnpack the crate.\n",
    "i18n/de/docusaurus-plugin-content-docs-api/current/burn.md": "# burn()\n\nZündet an.\n",
}
PLUGINS = [
    ("versioned_docs/version-1.0/wicks.md", "https://lamps.example/course/docs/wicks"),
    ("reference/trim.md", "https://lamps.example/course/api/trim"),
    ("reference/burn.md", "https://lamps.example/course/api/burn"),
    ("sdk_versioned_docs/version-2.0/setup.md", "https://lamps.example/course/sdk/setup"),
]


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def pages(folder: Path, edition: Edition | None = None) -> list[tuple[str, str]]:
    book = read_book(folder, edition=edition) if edition else read_book(folder)
    return [(one.file, one.url) for one in book.documents]


def test_a_site_has_the_docs_of_all_its_plugins_in_their_latest_version(tmp_path: Path) -> None:
    book = read_book(write(tmp_path, FILES))
    assert [(one.file, one.url) for one in book.documents] == PLUGINS
    assert [str(one) for one in book.warnings if "only the version 2.0" in str(one)]


def test_the_docs_of_other_plugins_are_in_the_editions_of_the_latest_version(
    tmp_path: Path,
) -> None:
    write(tmp_path, FILES)
    german, upcoming = (
        next(one for one in editions_of(tmp_path) if one.in_id == in_id)
        for in_id in (("", "de"), ("next", ""))
    )
    assert pages(tmp_path, upcoming) == [
        ("docs/wicks.md", "https://lamps.example/course/docs/next/wicks")
    ]
    assert (
        "i18n/de/docusaurus-plugin-content-docs-api/current/burn.md",
        "https://lamps.example/course/de/api/burn",
    ) in pages(tmp_path, german)


@pytest.mark.parametrize("path", ["'docs'", "resolve('reference')", "'docs/inner'"])
def test_a_page_of_two_plugins_is_read_once(path: str, tmp_path: Path) -> None:
    config = CONFIG.replace("path: 'reference'", f"path: {path}")
    generated = {"sidebars.js": "", "sidebars-api.js": "", "versions.json": "[]"}
    files = {"docs/inner/oil.md": "# Oil\n", **generated}
    write(tmp_path, {**FILES, **files, "docusaurus.config.js": config})
    found = [file for file, _ in pages(tmp_path) if file.startswith("docs/")]
    assert found == ["docs/inner/oil.md", "docs/wicks.md"]


@pytest.mark.parametrize(
    ("base", "expected", "warned"),
    [
        ("`${route}lamps/`", "https://lamps.example/course/lamps/docs/wicks", False),
        ("process.env.BASE ?? '/'", "https://lamps.example/docs/wicks", True),
        ("`${process.env.BASE}/`", "https://lamps.example/docs/wicks", True),
    ],
)
def test_a_computed_base_url_is_read_if_it_is_of_constants(
    base: str, expected: str, *, warned: bool, tmp_path: Path
) -> None:
    computed = CONFIG.replace("baseUrl: route", f"baseUrl: {base}")
    book = read_book(write(tmp_path, {**FILES, "docusaurus.config.js": computed}))
    assert book.documents[0].url == expected
    lines = [one.line for one in book.warnings if "baseUrl" in one.message]
    assert lines == ([4] if warned else [])


MODULES = {
    "docusaurus.config.js": """import { site } from './config/site.mjs';
import presets, { route as base } from './config/presets';
const theme = { colours: ['a', 'b', 'c'], title: 'No title', url: 'https://no.example', depth: 1 };
const config = { ...site, baseUrl: base, presets, themeConfig: theme as Theme };
export default config;
""",
    "config/site.mjs": "export const site = { title: 'Lamps', url: 'https://lamps.example' };",
    "config/presets.js": """const docs = require('./docs').docs, other = 1;
const { docs: options } = require('./docs');
export const route = '/course/';
export default [['classic', { docs: options }]];
""",
    "config/docs.js": """import { site } from './site.mjs';
module.exports = { docs: { routeBasePath: '/', remarkPlugins: [remarkMath] } };
""",
    "docs/wicks.md": "# Wicks\n\nThe wick $w$ is trimmed.\n",
}


def test_a_configuration_may_consist_of_several_modules(tmp_path: Path) -> None:
    book = read_book(write(tmp_path, MODULES))
    assert book.title == "Lamps"
    assert pages(tmp_path) == [("docs/wicks.md", "https://lamps.example/course/wicks")]


def test_modules_that_import_each_other_are_read_once(tmp_path: Path) -> None:
    chain = {f"c{at}.js": f"import {{ a }} from './c{at + 1}';" for at in range(2_000)}
    cycle = "import { b } from './docusaurus.config.js';\nexport default { title: 'Lamps' };"
    files = {"docusaurus.config.js": "import './c0';\nimport { a } from './c0';\n" + cycle}
    book = read_book(write(tmp_path, {**files, **chain, "docs/a.md": "# A\n"}))
    assert book.title == "Lamps"


def test_pages_that_a_computed_sidebar_may_list_are_read(tmp_path: Path) -> None:
    sidebars = "module.exports = { docs: ['b', ...others()] };"
    files = {"docusaurus.config.js": "module.exports = {};", "sidebars.js": sidebars}
    book = read_book(write(tmp_path, {**files, "docs/a.md": "# A\n", "docs/b.md": "# B\n"}))
    assert [page.file for page in book.documents] == ["docs/b.md", "docs/a.md"]
    assert "computes items" in str(book.warnings[0])


def test_a_sidebar_may_be_in_several_modules(tmp_path: Path) -> None:
    """As its configuration may, and in names of the module."""
    files = {
        "docusaurus.config.js": "module.exports = {};",
        "sidebars.js": "const last = require('./last');\nconst first = ['b', 'c'];\n"
        "module.exports = { docs: [{ type: 'category', label: 'B', items: first }, last] };",
        "last.js": "module.exports = { type: 'category', label: 'A', items: ['a'] };",
    }
    pages = {f"docs/{name}.md": f"# {name}\n\nText.\n" for name in "abc"}
    book = read_book(write(tmp_path, {**files, **pages}))
    assert [page.file for page in book.documents] == ["docs/b.md", "docs/c.md", "docs/a.md"]
    assert not book.warnings


def test_constants_of_constants_stay_short() -> None:
    doubled = "\n".join(f"const a{n + 1} = `${{a{n}}}${{a{n}}}`;" for n in range(60))
    source = f"const a0 = 'xx';\n{doubled}\nmodule.exports = {{ a: a60, b: a3 }};"
    value = read_module(source, {})["default"]
    assert value == {"a": None, "b": "x" * 16}


def test_a_template_of_constants_stays_short() -> None:
    often = "${a}" * 200_000
    source = f"const a = '{'x' * 200}';\nexport default {{ a: `${{a}}`, b: `{often}` }};"
    assert read_module(source, {})["default"] == {"a": "x" * 200, "b": None}


@pytest.mark.parametrize(
    "text",
    [
        lambda size: "const a = 'x'" + " " * size + "y\n",
        lambda size: "const a = {" + "/* " * size,
        lambda size: "const a = {" + "`\\" * size,
        lambda size: "const a = {" + '"\\' * size,
        lambda size: "const a = [`${" + " " * size + "`]\n",
        lambda size: "".join(f"const a{n} = {{...a{n - 1}, k{n}: 1}};\n" for n in range(size // 9)),
    ],
    ids=["blanks", "comments", "templates", "strings", "placeholders", "spreads"],
)
def test_what_is_never_closed_is_read_in_linear_time(text: Callable[[int], str]) -> None:
    start = process_time()
    read_module(text(100_000), {})
    assert process_time() - start < 2


@pytest.mark.parametrize(
    ("glob", "left"),
    [
        ("**/drafts/**", {"a.md", "b/c.md"}),
        ("drafts/*.md", {"a.md", "b/c.md", "b/drafts/e.md"}),
        ("**/*.md", set()),
        ("*.md", {"b/c.md", "drafts/d.md", "b/drafts/e.md"}),
        ("b", {"a.md", "b/c.md", "drafts/d.md", "b/drafts/e.md"}),
        ("**/{a,d}.{md,mdx}", {"b/c.md", "b/drafts/e.md"}),
        ("{b/{c,d},drafts/*}.md", {"a.md", "b/drafts/e.md"}),
        ("{a}.md", {"a.md", "b/c.md", "drafts/d.md", "b/drafts/e.md"}),
        ("{a,b}" * 3_000, {"a.md", "b/c.md", "drafts/d.md", "b/drafts/e.md"}),
    ],
)
def test_excluded_files_are_no_pages(glob: str, left: set[str], tmp_path: Path) -> None:
    names = ("a.md", "b/c.md", "drafts/d.md", "b/drafts/e.md")
    config = f"export default {{ presets: [['classic', {{ docs: {{ exclude: ['{glob}'] }} }}]] }};"
    files = {f"docs/{name}": f"# {name}\n\nText.\n" for name in names}
    write(tmp_path, {"docusaurus.config.js": config, "docs/kept.mdx": "# Kept\n", **files})
    found = {file.removeprefix("docs/") for file, _ in pages(tmp_path)}
    assert found - {"kept.mdx"} == left


@pytest.mark.parametrize(
    "path", ["x" * 300, "x/" * 3_000, "do\\u0000cs", "do\\ud800cs", "../../etc"]
)
def test_a_folder_that_cannot_be_has_no_pages(path: str, tmp_path: Path) -> None:
    config = f"export default {{ presets: [['classic', {{ docs: {{ path: '{path}' }} }}]] }};"
    with pytest.raises(BookError, match="no text found"):
        read_book(write(tmp_path, {**FILES, "docusaurus.config.js": config, "versions.json": "[]"}))


@pytest.mark.parametrize(
    "files",
    [
        {"site/docusaurus.config.js": "export default { docs: { path: '../book' } };"},
        {"site/mkdocs.yml": "site_name: Lamps\ndocs_dir: ../book\n"},
    ],
)
def test_pages_outside_the_folder_are_named(files: dict[str, str], tmp_path: Path) -> None:
    write(tmp_path, {**files, "book/a.md": "# A\n\nText.\n"})
    with pytest.raises(BookError, match=f"no text found.* in '{tmp_path}/book'"):
        read_book(tmp_path / "site")


@pytest.mark.parametrize("call", ["path.resolve(__dirname, '../book')", "path.join('../book')"])
def test_the_computed_path_of_the_docs_is_read(call: str, tmp_path: Path) -> None:
    config = f"export default {{ docs: {{ path: {call} }} }};"
    write(tmp_path, {"site/docusaurus.config.js": config, "book/a.md": "# A\n\nText.\n"})
    assert [file for file, _ in pages(tmp_path)] == ["book/a.md"]


@pytest.mark.parametrize(("setting", "url"), [("true", "/b/docs/a/"), ("false", "/b/docs/a")])
def test_the_trailing_slash_is_added_to_the_addresses_of_an_earlier_build(
    setting: str, url: str, tmp_path: Path
) -> None:
    metadata = {"source": "@site/docs/a.md", "permalink": "/b/docs/a/"}
    if setting == "true":
        metadata["permalink"] = "/b/docs/a"
    write(
        tmp_path,
        {
            "docusaurus.config.js": f"export default {{baseUrl: '/b/', trailingSlash: {setting}}}",
            "docs/a.md": "# A\n\nText.\n",
            ".docusaurus/docusaurus-plugin-content-docs/default/site-a.json": json.dumps(metadata),
        },
    )
    assert [one for _, one in pages(tmp_path)] == [url]


def test_a_sidebar_of_docusaurus_2_names_its_docs_with_the_version(tmp_path: Path) -> None:
    sidebar = {"version-1.0/docs": ["version-1.0/wicks", "version-1.0/oil"]}
    files = {
        "docusaurus.config.js": "module.exports = { url: 'https://lamps.example', baseUrl: '/' };",
        "versions.json": '["1.0"]',
        "versioned_sidebars/version-1.0-sidebars.json": json.dumps(sidebar),
        "versioned_docs/version-1.0/oil.md": "# Oil\n",
        "versioned_docs/version-1.0/wicks.md": "# Wicks\n",
    }
    book = read_book(write(tmp_path, files))
    assert [one.url for one in book.documents] == [
        "https://lamps.example/docs/wicks",
        "https://lamps.example/docs/oil",
    ]
    assert not book.warnings


@pytest.mark.parametrize("locales", ["", "locales: ['en', 'pt-BR'],"])
def test_a_locale_may_have_a_folder_of_another_name(locales: str, tmp_path: Path) -> None:
    i18n = f"defaultLocale: 'en', {locales} localeConfigs: {{ 'pt-BR': {{ path: 'brasil' }} }}"
    files = {
        "docusaurus.config.js": f"export default {{ baseUrl: '/', i18n: {{ {i18n} }} }};",
        "docs/a.md": "# A\n\nThe wick is trimmed.\n",
        "docs/b.md": "# B\n\nThe lamp is lit.\n",
        "i18n/brasil/docusaurus-plugin-content-docs/current/a.md": "# A\n\nO pavio.\n",
    }
    _, edition = editions_of(write(tmp_path, files))
    book = read_book(tmp_path, edition=edition)
    assert edition.locale == "pt-BR"
    assert [(page.url, page.language) for page in book.documents] == [
        ("/pt-BR/docs/a", "pt"),
        ("/pt-BR/docs/b", "en"),
    ]


NUMBERED = {
    "docusaurus.config.js": """module.exports = { title: 'Lamps', url: 'https://lamps.example',
      baseUrl: '/', presets: [['classic', { docs: { numberPrefixParser: false } }]] };""",
    "sidebars.js": """module.exports = { docs: ['02-parts/10-wicks',
      { type: 'autogenerated', dirName: '01-use' }] };""",
    "docs/02-parts/10-wicks.md": "# Wicks\n\nThe wick is trimmed every nine hours.\n",
    "docs/01-use/10-light.md": "# Lighting\n\nLift the glass.\n",
    "docs/01-use/9-fill.md": "# Filling\n\nFill the lamp outside.\n",
}


def test_numbers_are_part_of_names_if_the_site_does_not_parse_them(tmp_path: Path) -> None:
    book = read_book(write(tmp_path, NUMBERED))
    assert [one.url.removeprefix("https://lamps.example/docs/") for one in book.documents] == [
        "02-parts/10-wicks",
        "01-use/10-light",
        "01-use/9-fill",
    ]
    assert not book.warnings
