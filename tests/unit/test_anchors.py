"""Heading anchors and page addresses, checked against cases that the generators themselves made."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from app.adapters.markdown import editions_of, read_book, read_text
from app.adapters.markdown.mdbook import syntax as mdbook
from app.adapters.markdown.mkdocs import syntax as mkdocs
from app.adapters.markdown.myst import syntax as myst
from app.adapters.markdown.parser.anchors import Slugger, SlugStyle, heading_source
from app.adapters.markdown.parser.dialect import Dialect
from app.adapters.markdown.parser.file_reader import inline_reader
from app.domain.document import BlockKind, Site
from tests.conftest import ROOT

VECTORS = json.loads((ROOT / "tests/data/site-vectors.json").read_text(encoding="utf-8"))
SPHINX_KEY = "sphinx_myst_heading_anchors3 (first=section id, others=extra span ids)"

GENERATORS: list[tuple[str, Dialect, SlugStyle]] = [
    ("mkdocs_default", mkdocs.DIALECT, mkdocs.STYLE),
    ("mkdocs_pymdownx_slugify_lower", mkdocs.DIALECT, mkdocs.PYMDOWNX),
    ("mdbook_HEAD_id_function", mdbook.DIALECT, mdbook.PLAIN_STYLE),
]


def cases(key: str) -> tuple[list[str], list[object]]:
    """Return the headings of a page in order and what the generator made of them.

    mdBook 0.5.4 has no `section` yet: such a heading has no anchor that holds in each version.
    """
    pairs = VECTORS[key]
    anchors = [anchor for _, anchor in pairs]
    if key.startswith("mdbook"):
        anchors = ["" if anchor in ("section", "section-1") else anchor for anchor in anchors]
    return [source for source, _ in pairs], anchors


def heading_anchors(sources: Sequence[str], dialect: Dialect, style: SlugStyle) -> list[str]:
    """Return the anchors of a page's headings, given their inline sources in order."""
    inline = inline_reader(dialect)
    slugger = Slugger(style)
    anchors: list[str] = []
    for source in sources:
        heading = heading_source(source, dialect)
        text = inline.slug_text(heading.content, {}, style.policy)
        anchors.append(slugger.anchor(text, 2, heading.explicit_id))
    return anchors


@pytest.mark.parametrize(
    ("key", "dialect", "style"), GENERATORS, ids=[row[0] for row in GENERATORS]
)
def test_headings_of_a_page_get_the_generators_anchors(
    key: str, dialect: Dialect, style: SlugStyle
) -> None:
    sources, expected = cases(key)
    assert dict(enumerate(heading_anchors(sources, dialect, style))) == dict(enumerate(expected))


@pytest.mark.parametrize("key", [SPHINX_KEY, "jupyter_book_1"])
def test_sphinx_sections_get_docutils_ids(key: str) -> None:
    sources, expected = cases(key)
    firsts = [ids[0] for ids in expected if isinstance(ids, list)]
    assert heading_anchors(sources, MYST_DIALECT, myst.STYLE) == firsts


MYST_DIALECT = replace(myst.DIALECT, attribute_lists=False, inline_attributes=False)
"""As in the vectors' build: no `attrs_block`, so `{#id}` is text."""


def docusaurus_page() -> tuple[str, str, list[tuple[str, str | None]]]:
    """Rebuild the page of the Docusaurus vectors: its source, its partial, its anchors."""
    lines = ["import Partial from './_partial.mdx'", "", "export const version = '1.2.3'", ""]
    anchors: list[tuple[str, str | None]] = []
    for case in VECTORS["docusaurus_headings_page_order"]:
        source, level = case["source"], int(case["tag"][1])
        if source.startswith("(footnotes"):
            continue
        if source.startswith("RAWHTML"):
            lines += [source.removeprefix("RAWHTML "), ""]
        elif source.startswith("(from _partial"):
            lines += ["<Partial />", ""]
        elif source == "Setext Heading":
            lines += [source, "---", ""]
        else:
            lines += [f"{'#' * level} {source}", ""]
        anchors.append((source, case["id"]))
    lines += ["[^1]: A note.", ""]
    return "\n".join(lines), "## Partial Heading\n", anchors


def test_a_docusaurus_page_gets_the_anchors_of_the_real_build(tmp_path: Path) -> None:
    page, partial, expected = docusaurus_page()
    (tmp_path / "docs").mkdir()
    (tmp_path / "docusaurus.config.js").write_text("export default {remarkPlugins: [remarkMath]}")
    (tmp_path / "docs" / "headings.mdx").write_text(page, encoding="utf-8")
    (tmp_path / "docs" / "_partial.mdx").write_text(partial, encoding="utf-8")
    book = read_book(tmp_path)
    headings = [block for block in book.blocks() if block.kind is BlockKind.HEADING]
    assert len(headings) == len(expected)
    made = {
        f"{index} {source}": block.anchor
        for index, (block, (source, anchor)) in enumerate(zip(headings, expected, strict=True))
        if anchor is not None
    }
    assert made == {
        f"{index} {source}": anchor
        for index, (source, anchor) in enumerate(expected)
        if anchor is not None
    }


@pytest.mark.parametrize("case", VECTORS["docusaurus_headings_other"])
def test_other_docusaurus_pages(case: dict[str, object], tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docusaurus.config.js").write_text("export default {}")
    (tmp_path / "docs" / "page.md").write_text(str(case["page_md"]), encoding="utf-8")
    book = read_book(tmp_path)
    made = [block.anchor for block in book.blocks() if block.level == 2]
    pairs = case["ids"]
    assert isinstance(pairs, list)
    assert made == [anchor for tag, anchor in pairs if tag == "h2"]


def docusaurus_site(folder: Path) -> dict[str, str]:
    """Write the site of the vectors to `folder`; return file -> permalink."""
    config = VECTORS["docusaurus_urls"]["config"]
    (folder / "docusaurus.config.js").write_text(
        "module.exports = {title: 'Site', url: 'https://example.org', "
        f"baseUrl: '{config['baseUrl']}', i18n: {{defaultLocale: 'en', locales: ['en', 'ur']}},"
        f" presets: [['classic', {{docs: {{routeBasePath: '{config['routeBasePath']}'}}}}]]}}"
    )
    (folder / "versions.json").write_text('["1.0"]')
    permalinks: dict[str, str] = {}
    for source, facts in VECTORS["docusaurus_urls"]["docs"].items():
        file = source.removeprefix("@site/")
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        front = f"---\n{facts['front_matter']}\n---\n" if facts["front_matter"] else ""
        title = "" if "title:" in facts["front_matter"] else f"# {facts['title']}\n\n"
        path.write_text(f"{front}{title}Text of {file}.\n", encoding="utf-8")
        permalinks[file] = facts["permalink"]
    return permalinks


def test_docusaurus_pages_get_their_permalinks(tmp_path: Path) -> None:
    """Number prefixes, slugs, ids, folder pages, versions and locales are as in the real build."""
    permalinks = docusaurus_site(tmp_path)
    made = {
        page.file: unquote(urlsplit(page.url).path)
        for edition in reversed(editions_of(tmp_path))
        for page in read_book(tmp_path, edition=edition, include_orphans=True).documents
        if edition.locale == "en" or page.file.startswith("i18n/")
    }
    assert made == permalinks


def test_the_latest_version_in_the_default_locale_is_the_book(tmp_path: Path) -> None:
    docusaurus_site(tmp_path)
    book = read_book(tmp_path)
    assert {page.file.split("/")[0] for page in book.documents} == {"versioned_docs"}
    assert not book.orphans


@pytest.mark.parametrize(("setting", "ending"), [("true", "/"), ("false", "first-steps")])
def test_trailing_slash_decides_the_end_of_the_address(
    setting: str, ending: str, tmp_path: Path
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docusaurus.config.js").write_text(
        f"export default {{url: 'https://x.org', baseUrl: '/', trailingSlash: {setting}}}"
    )
    (tmp_path / "docs" / "first-steps.md").write_text("# A\n\nText.\n")
    assert read_book(tmp_path).documents[0].url.endswith(ending)


def test_the_built_sites_own_map_wins(tmp_path: Path) -> None:
    built = tmp_path / ".docusaurus/docusaurus-plugin-content-docs/default"
    built.mkdir(parents=True)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docusaurus.config.js").write_text(
        "export default {url: 'https://x.org', baseUrl: '/b/'}"
    )
    (tmp_path / "docs" / "page.md").write_text("# A\n\nText.\n")
    (built / "site-docs-page-md-abc.json").write_text(
        json.dumps({"source": "@site/docs/page.md", "permalink": "/b/somewhere/else"})
    )
    assert read_book(tmp_path).documents[0].url == "https://x.org/b/somewhere/else"


OTHER_URLS = [
    ("mkdocs use_directory_urls=true", Site.MKDOCS, "mkdocs.yml", "site_name: S\ndocs_dir: docs\n"),
    ("sphinx html", Site.MYST, "docs/conf.py", "project = 'S'\n"),
    ("jupyter-book", Site.MYST, "docs/_toc.yml", ""),
]


@pytest.mark.parametrize(
    ("key", "site", "config", "text"), OTHER_URLS, ids=[row[0] for row in OTHER_URLS]
)
def test_other_generators_addresses(
    key: str, site: Site, config: str, text: str, tmp_path: Path
) -> None:
    facts = VECTORS["other_generators_urls"]
    for source in facts["sources"]:
        path = tmp_path / "docs" / source
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {source}\n\nText.\n", encoding="utf-8")
    (tmp_path / config).write_text(text)
    book = read_book(tmp_path, include_orphans=True)
    assert book.site is site
    made = {unquote(urlsplit(page.url).path).lstrip("/") for page in book.documents}
    files = {path + "index.html" if path.endswith("/") or not path else path for path in made}
    assert files == set(facts["outputs"][key])


@pytest.mark.parametrize(("extension", "anchor"), [("toc", "größe"), ("pymdownx.tabbed", "groe")])
def test_the_slugs_of_mkdocs_are_those_of_its_table_of_contents(
    extension: str, anchor: str, tmp_path: Path
) -> None:
    (tmp_path / "mkdocs.yml").write_text(
        f"site_name: S\nmarkdown_extensions:\n- {extension}:\n    permalink: true\n"
        "    slugify: !!python/object/apply:pymdownx.slugs.slugify\n      kwds: {case: lower}\n"
    )
    (tmp_path / "index.md").write_text("# Größe\n\nText.\n", encoding="utf-8")
    assert next(iter(read_book(tmp_path).blocks())).anchor == anchor


@pytest.mark.parametrize(
    ("between", "anchor"),
    [("", "lamp"), ("```{raw} latex\nx\n```\n\n", "wicks"), ("```{index} Wick\n```\n", "wicks")],
)
def test_a_label_before_a_directive_is_no_anchor_of_the_next_heading(
    between: str, anchor: str, tmp_path: Path
) -> None:
    (tmp_path / "a.md").write_text(f"(lamp)=\n{between}# Wicks\n\nText.\n", encoding="utf-8")
    heading = next(iter(read_book(tmp_path, site=Site.MYST).blocks()))
    assert (heading.paragraph_id, heading.anchor) == ("lamp", anchor)


@pytest.mark.parametrize("folder", ["", "guide/", "docs/"])
@pytest.mark.parametrize(
    ("site_url", "base_url", "expected"),
    [
        ("/lamps/", "", "/lamps/wicks.html"),
        ("//lamps.example", "", "/lamps.example/wicks.html"),
        ("/a?b#c d/", "", "/a%3Fb%23c%20d/wicks.html"),
        ("https://lamps.example/b/", "", "https://lamps.example/b/wicks.html"),
        ("/lamps/", "https://x.example", "https://x.example/wicks.html"),
    ],
)
def test_the_address_of_an_mdbook_in_a_repository(
    folder: str, site_url: str, base_url: str, expected: str, tmp_path: Path
) -> None:
    (tmp_path / folder / "src").mkdir(parents=True)
    config = f"[output.html]\nsite-url = '{site_url}'\n"
    (tmp_path / folder / "book.toml").write_text(config, encoding="utf-8")
    (tmp_path / folder / "src/SUMMARY.md").write_text("- [Wicks](wicks.md)\n", encoding="utf-8")
    (tmp_path / folder / "src/wicks.md").write_text("# Wicks\n\nTrimmed.\n", encoding="utf-8")
    (tmp_path / "README.md").write_text("# A repository\n", encoding="utf-8")
    book = read_book(tmp_path, base_url=base_url)
    assert [(page.file, page.url) for page in book.documents] == [
        (f"{folder}src/wicks.md", expected)
    ]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("[1.18.2](https://e.org) - 2026 ## {: #v1 }", "1.18.2 - 2026"),
        ("Plain ## {#v1}", "Plain"),
        ("Say # yes {#v1}", "Say # yes"),
    ],
)
def test_python_markdown_takes_closing_hashes_off_before_an_attribute_list(
    source: str, text: str, tmp_path: Path
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "mkdocs.yml").write_text("site_name: S")
    (tmp_path / "docs" / "index.md").write_text(f"# T\n\n## {source}\n")
    heading = next(block for block in read_book(tmp_path).blocks() if block.level == 2)
    assert (heading.text, heading.anchor) == (text, "v1")


@pytest.mark.parametrize("site", [Site.DOCUSAURUS, Site.PLAIN])
@pytest.mark.parametrize(
    ("heading", "text", "anchor"),
    [
        ("Two parts {/*first-part*/}", "Two parts", "first-part"),
        ("Two parts {/* #first-part */}", "Two parts", "first-part"),
    ],
)
def test_an_id_in_a_comment_is_the_headings_anchor(
    heading: str, text: str, anchor: str, site: Site
) -> None:
    found = read_text(f"# Title\n\n## {heading}\n\nText.\n", site=site).blocks[1]
    assert (found.text, found.anchor) == (text, anchor)


@pytest.mark.parametrize(
    ("heading", "plain", "typographic"),
    [
        ("Build your book's HTML", "build-your-book-s-html", "build-your-books-html"),
        ("`conf`'s values -- or 'none'", "conf-s-values-or-none", "confs-values-or-none"),
        ("`it's` wicks--lamps (c)", "it-s-wicks-lamps-c", "it-s-wickslamps"),
    ],
)
@pytest.mark.parametrize(
    ("file", "settings"),
    [
        ("conf.py", "myst_enable_extensions = [\n  {}]  # '\\d'\n"),
        ("conf.py", "myst_enable_extensions = {{ {} }}\nmyst_substitutions = {{[]: 1}}\n"),
        ("conf.py", "myst_enable_extensions = ( {} )\n"),
        ("_config.yml", "parse:\n  myst_enable_extensions: [{}]\n"),
    ],
)
def test_typographic_characters_are_not_in_the_ids_of_sphinx(
    heading: str, plain: str, typographic: str, file: str, settings: str, tmp_path: Path
) -> None:
    (tmp_path / "index.md").write_text(f"# Title\n\n## {heading}\n", encoding="utf-8")
    if file == "_config.yml":
        (tmp_path / "_toc.yml").write_text("root: index\n")
    for extensions, anchor in (("", plain), ("'replacements', 'smartquotes'", typographic)):
        (tmp_path / file).write_text(settings.format(extensions))
        assert [block.anchor for block in read_book(tmp_path).blocks()] == ["title", anchor]


@pytest.mark.parametrize(
    ("attributes", "anchor"),
    [("{#own_id .red}", "own-id"), ('{k="v" #own}\n', "own"), ("{.red}", "wicks")],
)
def test_an_attribute_list_of_myst_is_that_of_the_next_block(
    attributes: str, anchor: str, tmp_path: Path
) -> None:
    text = f"Text before.\n\n{attributes}\n## Wicks\n\nText.\n"
    (tmp_path / "index.md").write_text(text, encoding="utf-8")
    before, heading, _ = read_book(tmp_path, site=Site.MYST).blocks()
    assert (before.text, before.anchor) == ("Text before.", "")
    assert heading.anchor == anchor


@pytest.mark.parametrize(
    ("extensions", "shown"),
    [("attrs_inline", "A wick of cotton, a lamp and a [wick]"), ("tasklist", None)],
)
def test_brackets_of_a_span_with_attributes_are_not_shown(
    extensions: str, shown: str | None, tmp_path: Path
) -> None:
    source = "A [wick of *cotton*]{.red #w}, a [lamp]{.x} and a [wick]"
    (tmp_path / "conf.py").write_text(f"myst_enable_extensions = ['{extensions}']\n")
    (tmp_path / "index.md").write_text(source + "\n", encoding="utf-8")
    [block] = read_book(tmp_path).blocks()
    assert block.text == (shown or "A [wick of cotton], a [lamp] and a [wick]")


@pytest.mark.parametrize("site", [Site.MDBOOK, Site.MKDOCS, Site.PLAIN])
def test_escaped_braces_at_the_end_of_a_heading_are_text(site: Site) -> None:
    [heading] = read_text("## Copying \\{std,rustc\\}\n", site=site).blocks
    assert (heading.text, heading.anchor) == ("Copying {std,rustc}", "copying-stdrustc")


@pytest.mark.parametrize(
    ("config", "site"), [("mkdocs.yml", Site.MKDOCS), ("conf.py", Site.MYST), (None, Site.MDBOOK)]
)
def test_a_configuration_at_the_top_says_more_than_an_mdbook_below(
    config: str | None, site: Site, tmp_path: Path
) -> None:
    if config:
        (tmp_path / config).write_text("")
    (tmp_path / "guide" / "src").mkdir(parents=True)
    (tmp_path / "guide" / "book.toml").write_text("")
    (tmp_path / "guide" / "src" / "SUMMARY.md").write_text("[A](a.md)\n")
    for folder in ("docs", "guide/src", "."):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "a.md").write_text("# A\n")
    assert read_book(tmp_path).site is site
