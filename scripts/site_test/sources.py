"""Write the sample book's source tree for another site generator.

    python scripts/site_test/sources.py GENERATOR BOOK_FOLDER OUT --server URL --book ID --site URL

GENERATOR is `docusaurus`, `jupyter-book`, `mdbook` or `mkdocs`. OUT gets the pages, with containers
and tabs in its syntax, its configuration and the widget; of `docusaurus` the docs alone.
"""

import argparse
import json
import re
import shutil
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
_HOOK = ROOT / "app/widget/mkdocs-textbook-rag/textbook_rag.py"
_IMPORTS = "import Tabs from '@theme/Tabs';\nimport TabItem from '@theme/TabItem';\n\n"
_ADMONITION = re.compile(
    r"^(?P<fence>:{3,})(?P<kind>\w+)\[(?P<title>.*)\]\n(?P<body>.*?)^(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)
_TABS = re.compile(r"^</?Tabs>\n+", re.MULTILINE)
_TAB = re.compile(
    r'^<TabItem value="\w+" label="(?P<title>\w+)".*?>\n(?P<body>.*?)^</TabItem>$',
    re.MULTILINE | re.DOTALL,
)
_ADMONITION_LINE = re.compile(r"^(:{3,})(\w+)\[(.*)\]$", re.MULTILINE)
_HEADING_ID = re.compile(r"^(#+ .*) \{#(.*)\}$", re.MULTILINE)
_CROSS_REFERENCE = re.compile(r"\]\([\w./-]+\.md#")
_DETAILS = re.compile(
    r"^<details>\n<summary>(?P<title>[^\n]*)</summary>\n(?P<body>.*?)^</details>$",
    re.MULTILINE | re.DOTALL,
)
_FENCE = re.compile(r"^(?P<fence>```\w+)(?P<title> title=\S+)?(?: \{(?P<lines>[\d,-]+)\})?$", re.M)
_EXTENSIONS = (
    "admonition",
    "attr_list",
    "def_list",
    "footnotes",
    "md_in_html",
    "pymdownx.arithmatex",
    "pymdownx.details",
    "pymdownx.highlight",
    "pymdownx.superfences",
    "pymdownx.tabbed",
    "tables",
    "toc",
)
_OPTIONS = {
    "pymdownx.arithmatex": {"generic": True},
    "pymdownx.tabbed": {"alternate_style": True},
}


def _indented(head: str, body: str) -> str:
    return f"{head}\n\n{textwrap.indent(body.strip(), '    ')}\n"


def _admonition(found: re.Match[str]) -> str:
    return _indented(f'!!! {found["kind"]} "{found["title"]}"', found["body"])


def _quoted(title: str, body: str) -> str:
    return textwrap.indent(f"**{title}**\n\n{body.strip()}\n", "> ", lambda _: True)


def for_python_markdown(text: str) -> str:
    """Docusaurus admonitions, tabs and details in Python-Markdown's syntax."""
    text = _nested(_ADMONITION, text, _admonition)
    text = _TAB.sub(lambda m: _indented(f'=== "{m["title"]}"', m["body"]), text)
    text = _FENCE.sub(_highlighted, text)
    return _DETAILS.sub(lambda m: _indented(f'??? note "{m["title"]}"', m["body"]), text)


def _highlighted(fence: re.Match[str]) -> str:
    lines = (fence["lines"] or "").replace(",", " ")
    return fence["fence"] + (fence["title"] or "") + (f' hl_lines="{lines}"' if lines else "")


def for_mdbook(text: str) -> str:
    """Admonitions as quotes; the content of tabs in sequence."""
    text = _nested(_ADMONITION, text, lambda m: _quoted(m["title"], m["body"]))
    return _TAB.sub(lambda m: m["body"], text)


def for_jupyter_book(text: str) -> str:
    """Admonitions, heading ids and links to them in MyST's syntax; tabs in sequence."""
    text = _ADMONITION_LINE.sub(r"\1{admonition} \3\n:class: \2\n", text)
    text = _HEADING_ID.sub(r"(\2)=\n\1", text)
    text = _CROSS_REFERENCE.sub("](#", text)
    text = _FENCE.sub(r"\g<fence>", text)
    return _TAB.sub(lambda m: m["body"], text)


def _nested(pattern: re.Pattern[str], text: str, become: Callable[[re.Match[str]], str]) -> str:
    """Replace the outer blocks, and those inside them."""
    while pattern.search(text):
        text = pattern.sub(become, text)
    return text


def sample_pages(folder: Path) -> dict[str, str]:
    """Return the sample book's pages in reading order, still with admonitions, tabs and details."""
    files = [path for path in folder.rglob("*.md") if path.name != "SUMMARY.md"]
    pages: dict[str, str] = {}
    for path in sorted(files, key=lambda path: (path.parent, path.stem != "index", path)):
        text = _TABS.sub("", path.read_text(encoding="utf-8"))
        pages[path.relative_to(folder).as_posix()] = text
    return pages


def write_pages(pages: dict[str, str], out: Path) -> None:
    for name, text in pages.items():
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def write_summary(pages: dict[str, str], path: Path) -> None:
    titles = {name: _title(text) for name, text in pages.items()}
    lines = [f"- [{title}]({name})" for name, title in titles.items()]
    path.write_text("# Summary\n\n" + "\n".join(lines) + "\n", encoding="utf-8")


def _title(text: str) -> str:
    found = re.search(r"^# (.*?)(?: \{#.*\})?$", text, re.MULTILINE)
    return found[1] if found else ""


def docusaurus(options: argparse.Namespace) -> None:
    """The docs of a Docusaurus site."""
    docs = options.out / "docs"
    shutil.copytree(options.folder, docs, ignore=shutil.ignore_patterns("SUMMARY.md"))
    for path in docs.rglob("*.md"):
        text = path.read_text(encoding="utf-8")
        if "<Tabs>" in text:
            path.write_text(_IMPORTS + text, encoding="utf-8")


def mdbook(options: argparse.Namespace) -> None:
    """An mdBook book."""
    out: Path = options.out
    pages = {name: for_mdbook(text) for name, text in sample_pages(options.folder).items()}
    write_pages(pages, out / "src")
    write_summary(pages, out / "src/SUMMARY.md")
    (out / "book.toml").write_text(
        f'[book]\ntitle = "{options.book}"\n\n[output.html]\nadditional-js = ["textbook-rag.js"]\n'
        "smart-punctuation = true\n",
        encoding="utf-8",
    )
    query = f"?book={options.book}&base-url={options.site}"
    (out / "textbook-rag.js").write_text(
        'document.head.append(Object.assign(document.createElement("script"), '
        f'{{src: "{options.server}/widget.js{query}"}}));\n',
        encoding="utf-8",
    )


def jupyter_book(options: argparse.Namespace) -> None:
    """A book of Jupyter Book 1, which has the Sphinx book theme."""
    out: Path = options.out
    pages = {name: for_jupyter_book(text) for name, text in sample_pages(options.folder).items()}
    write_pages(pages, out)
    root, *chapters = [name.removesuffix(".md") for name in pages]
    toc = {"format": "jb-book", "root": root, "chapters": [{"file": name} for name in chapters]}
    script = f"{options.server}/widget.js?book={options.book}&base-url={options.site}"
    config = {
        "title": options.book,
        "parse": {"myst_enable_extensions": ["colon_fence", "deflist", "dollarmath"]},
        "sphinx": {"config": {"html_js_files": [script]}},
    }
    # JSON is YAML.
    (out / "_toc.yml").write_text(json.dumps(toc, indent=2), encoding="utf-8")
    (out / "_config.yml").write_text(json.dumps(config, indent=2), encoding="utf-8")


def mkdocs(options: argparse.Namespace) -> None:
    """A MkDocs Material site with instant navigation."""
    out: Path = options.out
    pages = sample_pages(options.folder)
    write_pages({name: for_python_markdown(text) for name, text in pages.items()}, out / "docs")
    shutil.copy(_HOOK, out)
    config = {
        "site_name": options.book,
        "site_url": f"{options.site}/",
        "theme": {
            "name": "material",
            "font": False,
            "features": ["navigation.instant", "navigation.top"],
            "palette": [
                {"scheme": "default", "toggle": {"icon": "material/weather-sunny", "name": "Dark"}},
                {"scheme": "slate", "toggle": {"icon": "material/weather-night", "name": "Light"}},
            ],
        },
        "markdown_extensions": [{name: _OPTIONS.get(name, {})} for name in _EXTENSIONS],
        "hooks": ["textbook_rag.py"],
        "extra": {"textbook_rag": {"server": options.server, "book": options.book}},
    }
    # JSON is YAML.
    (out / "mkdocs.yml").write_text(json.dumps(config, indent=2), encoding="utf-8")


_WRITERS: dict[str, Callable[[argparse.Namespace], None]] = {
    "docusaurus": docusaurus,
    "jupyter-book": jupyter_book,
    "mdbook": mdbook,
    "mkdocs": mkdocs,
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("generator", choices=_WRITERS)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--server", required=True)
    parser.add_argument("--book", required=True)
    parser.add_argument("--site", required=True, help="address that the book is ingested for")
    options = parser.parse_args(arguments)
    shutil.rmtree(options.out, ignore_errors=True)
    options.out.mkdir(parents=True)
    _WRITERS[options.generator](options)


if __name__ == "__main__":
    main()
