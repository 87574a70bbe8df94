"""Which pages of a built site are read, in which order, under which chapters and addresses."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.adapters.reading import tree
from app.adapters.reading.book import read_book
from app.adapters.reading.site_pages import (
    FURNITURE,
    NO_TEXT,
    REPEATED,
    UNLISTED,
    SitePages,
    open_site_folder,
)
from app.domain.edition import Edition
from app.domain.errors import FileRefused, InputError
from tests.built_pages import BASE, canonical, docusaurus_page, item, links, page, write_site

FIXTURES = Path(__file__).parents[1] / "fixtures/sites"


def only(folder: Path, base_url: str = BASE) -> SitePages:
    (site,) = open_site_folder(folder, base_url)
    return site


def files(site: SitePages) -> list[str]:
    return [one.file for one in site.pages]


def prose(subject: str) -> str:
    return f"All that is known of {subject} is told here."


def test_collapsed_sidebars_are_put_together_from_the_pages_that_open_them(
    tmp_path: Path,
) -> None:
    """Docusaurus links a closed category to its first page and shows the others only there."""
    guides = item("Eyes", "/guides/eyes") + item("Ears", "/guides/ears")
    closed = item("Intro", "/intro") + item("Guides", "/guides/eyes") + item("End", "/end")
    opened = item("Intro", "/intro") + item("Guides", "/guides/eyes", guides) + item("End", "/end")
    pages = {
        "intro/index.html": docusaurus_page("intro", closed, after="/guides/eyes"),
        "guides/eyes/index.html": docusaurus_page("guides/eyes", opened, after="/guides/ears"),
        "guides/ears/index.html": docusaurus_page("guides/ears", opened, after="/end"),
        "end/index.html": docusaurus_page("end", closed, after="/extra"),
        "extra/index.html": docusaurus_page("extra", ""),
        "blog/index.html": page("", '<meta name="generator" content="Docusaurus">').replace(
            "<html", '<html class="plugin-blog"'
        ),
    }
    site = only(write_site(tmp_path, pages), "")
    assert [(one.url.removeprefix("https://owls.example/"), one.chapter) for one in site.pages] == [
        ("intro", "Intro"),
        ("guides/eyes", "Guides"),
        ("guides/ears", "Guides"),
        ("end", "End"),
        ("extra", ""),  # only the next link leads to it
    ]
    assert [one.title for one in site.pages[1:3]] == ["Eyes", "Ears"]
    assert [*site.left_out] == ["not of the book, such as a blog"]


def test_sections_that_are_links_only_where_they_are_closed_keep_their_place(
    tmp_path: Path,
) -> None:
    """MkDocs Material with `navigation.prune`; a page may also have the title of a section."""
    sections = {"Eyes": ("pupil", "iris"), "Ears": ("tufts", "lobes"), "End": ("end", "last")}

    def menu(opened: str) -> str:
        shown = [item("Eyes", "/eyes.html")]
        for title, (first, second) in sections.items():
            inside = item(first, f"/{first}.html") + item(second, f"/{second}.html")
            label = f'<li><label class="md-nav__link">{title}</label><ul>{inside}</ul></li>'
            shown.append(label if opened == title else item(title, f"/{first}.html"))
        return f'<nav class="md-nav--primary" data-md-component="n"><ul>{"".join(shown)}</ul></nav>'

    pages = {f"{one}.html": page(menu(title)) for title, own in sections.items() for one in own}
    pages["eyes.html"] = page(menu(""))
    site = only(write_site(tmp_path, pages), "https://owls.example")
    assert [(one.file, one.chapter) for one in site.pages] == [
        ("eyes.html", "Eyes"),
        ("pupil.html", "Eyes"),
        ("iris.html", "Eyes"),
        ("tufts.html", "Ears"),
        ("lobes.html", "Ears"),
        ("end.html", "End"),
        ("last.html", "End"),
    ]


@pytest.mark.parametrize(
    "names",
    [
        ["1.1/text.html", "1.2/text.html"],
        ["eyes.html", "ears.html", "dev/lobes.html", "dev/tufts.html"],
    ],
)
def test_chapters_in_folders_named_like_versions_are_no_editions(
    tmp_path: Path, names: list[str]
) -> None:
    menu = f"<nav><ul>{''.join(item(name, f'/{name}') for name in names)}</ul></nav>"
    pages = {name: page(menu, canonical(name, "https://owls.example/")) for name in names}
    assert files(only(write_site(tmp_path, pages), "")) == names


def test_a_site_without_navigation_is_read_as_its_links_lead(tmp_path: Path) -> None:
    pages = {
        "index.html": page(links("z.html", "m/", "https://elsewhere.example/")),
        "z.html": page(links("m/", "a.html")),
        "m/index.html": page(links("../")),
        "a.html": page(),
        "alone.html": page(),
        "search.html": page(),
        "img/owl.svg": "<svg/>",
    }
    site = only(write_site(tmp_path, pages))
    assert files(site) == ["index.html", "z.html", "m/index.html", "a.html", "alone.html"]
    assert [one.url for one in site.pages[:3]] == [BASE, f"{BASE}z.html", f"{BASE}m/"]
    assert site.left_out == {FURNITURE: ["search.html"]}


def test_next_links_alone_give_the_order(tmp_path: Path) -> None:
    def chained(after: str) -> str:
        return page("", f'<link rel="next" href="{after}">' if after else "")

    pages = {"index.html": chained("c.html"), "c.html": chained("b.html"), "b.html": chained("")}
    assert files(only(write_site(tmp_path, pages))) == ["index.html", "c.html", "b.html"]


def sphinx_page(body: str, head: str = "") -> str:
    return page(body, head).replace("<html", '<html data-content_root="./"')


@pytest.mark.parametrize("text", [prose("owls"), ""])
def test_a_home_page_with_text_of_its_own_opens_the_book(tmp_path: Path, text: str) -> None:
    """Sphinx, VitePress and Starlight do not list it; another page must be listed."""
    menu = f'<div class="sidebar-tree"><ul>{item("Eyes", "eyes.html")}</ul></div>'
    body = f'<div class="documentwrapper"><div class="body"><p>{text}</p></div></div>{menu}'
    pages = dict.fromkeys(("index.html", "eyes.html", "draft.html"), sphinx_page(body))
    pages["eyes.html"] = sphinx_page(body.replace(text, prose("eyes")) if text else body)
    pages["draft.html"] = sphinx_page(body.replace(text, prose("wings")) if text else body)
    site = only(write_site(tmp_path, pages))
    assert files(site) == ["index.html", "eyes.html"][not text :]
    left_out = {UNLISTED: ["draft.html"], **({} if text else {NO_TEXT: ["index.html"]})}
    assert site.left_out == left_out


@pytest.mark.parametrize("name", ["toctree-wrapper", "toc", "contents"])
def test_the_contents_in_the_home_page_give_order_and_chapters(tmp_path: Path, name: str) -> None:
    """As in Sphinx without a sidebar, DocBook and Texinfo; next links lead to deeper pages."""
    below = f"<ul>{item('Pupils', 'z/pupils.html')}{item('A section', 'z/index.html#section')}</ul>"
    listed = f"{item('2. Eyes', 'z/index.html').replace('</li>', below)}{item('Ears', 'a.html')}"
    text = f"<p>{prose('owls')}</p>"
    pages = {
        "index.html": sphinx_page(f'{text}<div class="{name}"><ul>{listed}</ul></div>'),
        "z/index.html": sphinx_page('<div class="toctree-wrapper"><a href="iris.html">1</a></div>'),
        "z/pupils.html": sphinx_page("", '<link rel="next" href="iris.html">'),
        "z/iris.html": sphinx_page("", '<link rel="next" href="../a.html">'),
        "a.html": sphinx_page(""),
    }
    site = only(write_site(tmp_path, pages))
    assert [(one.file, one.chapter, one.chapter_number) for one in site.pages] == [
        ("index.html", "", 0),
        ("z/index.html", "Eyes", 2),
        ("z/pupils.html", "Eyes", 2),
        ("z/iris.html", "Eyes", 2),
        ("a.html", "Ears", 0),
    ]


def test_a_page_of_the_whole_book_is_left_out_even_if_it_is_listed(tmp_path: Path) -> None:
    """Two listed pages that differ little both stay."""
    texts = {name: [prose(f"{name} {at}") for at in range(12)] for name in ("eyes", "ears", "beak")}
    texts["all"] = [*texts["eyes"], *texts["ears"], *texts["beak"]]
    texts["beaks"] = [*texts["beak"][1:], prose("beaks")]
    menu = "".join(item(name, f"{name}.html") for name in ("all", *texts))
    pages = {
        f"{name}.html": page(
            f"<nav><ul>{menu}</ul></nav><main>{''.join(f'<p>{one}</p>' for one in own)}</main>"
        )
        for name, own in texts.items()
    }
    site = only(write_site(tmp_path, pages))
    assert files(site) == [f"{name}.html" for name in ("eyes", "ears", "beak", "beaks")]
    assert site.left_out == {REPEATED: ["all.html"]}


def test_links_from_the_root_lead_to_pages_without_a_base_url(tmp_path: Path) -> None:
    """A sidebar of absolute links gives one order, whether or not the address is told."""
    menu = f"<nav><ul>{item('Eyes', '/book/z')}{item('Ears', '/book/a/')}</ul></nav>"
    pages = {f"{name}/index.html": page(menu) for name in ("a", "z")}
    folder = write_site(tmp_path, pages)
    for base_url in ("", BASE, "https://mirror.example/"):
        assert files(only(folder, base_url)) == ["z/index.html", "a/index.html"]
        url = only(folder, base_url).pages[0].url
        assert url == f"{base_url or '/'}z"


def test_copies_redirects_and_pages_hidden_from_robots_are_left_out(tmp_path: Path) -> None:
    pages = {
        "index.html": page(links("a/", "copy.html", "old.html", "secret.html"), canonical("")),
        "a/index.html": page("", canonical("a/")),
        "copy.html": page("", canonical("a/")),
        "old.html": page("", '<meta http-equiv="refresh" content="0; url=a/">'),
        "secret.html": page("", '<meta name="robots" content="NoIndex, follow">'),
    }
    site = only(write_site(tmp_path, pages), "")
    assert files(site) == ["index.html", "a/index.html"]
    assert site.left_out == {
        "duplicate": ["copy.html"],
        "redirect": ["old.html"],
        "noindex": ["secret.html"],
    }


def test_a_site_that_hides_all_its_pages_from_robots_is_read(tmp_path: Path) -> None:
    hidden = page(head=f'<meta name="robots" content="noindex">{canonical("")}')
    assert files(only(write_site(tmp_path, {"index.html": hidden}), "")) == ["index.html"]


def test_the_sitemap_gives_the_addresses_that_no_page_names(tmp_path: Path) -> None:
    pages = {"index.html": page(), "docs/eyes.html": page(), "docs/ears.html": page()}
    locations = (BASE, f"{BASE}docs/eyes", f"{BASE}docs/ears")
    listed = "".join(f"<url><loc>{one}</loc></url>" for one in locations)
    pages["sitemap.xml"] = f"<urlset>{listed}</urlset>"
    site = only(write_site(tmp_path, pages), "")
    assert sorted(one.url for one in site.pages) == sorted(locations)
    assert site.base_url == BASE.rstrip("/")


def test_the_base_url_takes_precedence_over_the_built_one(tmp_path: Path) -> None:
    """Links from the built root still lead to the pages."""
    pages = {
        "index.html": page(links("/book/eyes"), canonical("")),
        "eyes/index.html": page("", canonical("eyes")),
    }
    site = only(write_site(tmp_path, pages), "https://mirror.example/owls")
    assert [one.url for one in site.pages] == [
        "https://mirror.example/owls/",
        "https://mirror.example/owls/eyes",
    ]


def test_a_base_url_of_a_part_of_the_site_leaves_out_the_other_pages(tmp_path: Path) -> None:
    pages = {
        "index.html": page(links("docs/"), canonical("")),
        "docs/index.html": page(links("eyes.html"), canonical("docs/")),
        "docs/eyes.html": page("", canonical("docs/eyes.html")),
    }
    site = only(write_site(tmp_path, pages), f"{BASE}docs")
    assert files(site) == ["docs/index.html", "docs/eyes.html"]
    assert site.base_url == f"{BASE}docs"
    assert site.left_out == {"outside the book's path": ["index.html"]}


def test_addresses_are_percent_encoded_and_found_again(tmp_path: Path) -> None:
    pages = {
        "index.html": page(links("b%C3%BCcher/eule%20eins.html")),
        "bücher/eule eins.html": page(),
    }
    site = only(write_site(tmp_path, pages))
    assert site.pages[1].url == f"{BASE}b%C3%BCcher/eule%20eins.html"


def test_a_page_that_is_too_large_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree, "MAX_BYTES", 1_000)
    folder = write_site(tmp_path, {"index.html": page(), "big.html": page("x" * 1_001)})
    with pytest.raises(FileRefused, match=r"big\.html"):
        open_site_folder(folder, BASE)
    (site,) = open_site_folder(folder, BASE, skip_refused=True)
    assert site.left_out == {"too large": ["big.html"]}


def test_files_outside_the_folder_are_not_read(tmp_path: Path) -> None:
    secret = write_site(tmp_path / "outside", {"secret.html": page()})
    folder = write_site(tmp_path / "site", {"index.html": page(links("../outside/secret.html"))})
    (folder / "link.html").symlink_to(secret / "secret.html")
    site = only(folder)
    assert files(site) == ["index.html"]
    assert [*site.left_out.values()] == [["link.html"]]


def test_a_single_page_is_a_site_at_its_canonical_or_given_address(tmp_path: Path) -> None:
    text = page("<main><p>Owls.</p></main>", canonical("owls.html"), "Owls", "de")
    path = write_site(tmp_path, {"404.html": text, "other.html": page()}) / "404.html"
    urls = [one.url for given in ("", BASE) for one in only(path, given).pages]
    assert urls == [f"{BASE}owls.html", BASE]
    assert (only(path).title, only(path).language) == ("Owls", "de")
    assert [one.text for one in read_book(path).blocks()] == ["Owls."]


def test_what_is_left_out_is_named_and_first_what_an_owner_may_miss(tmp_path: Path) -> None:
    menu = f'<div class="sidebar-tree"><ul>{item("Eyes", "eyes.html")}</ul></div>'
    names = ("_modules/owls.html", "a.html", "eyes.html", "genindex.html", "search.html")
    assert [
        *only(write_site(tmp_path, dict.fromkeys(names, sphinx_page(menu)))).left_out.items()
    ] == [
        (UNLISTED, ["a.html"]),
        (FURNITURE, ["_modules/owls.html", "genindex.html", "search.html"]),
    ]


def test_a_folder_without_pages_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no built pages"):
        open_site_folder(tmp_path)


def test_a_small_site_that_docusaurus_built() -> None:
    """Three editions; a closed group links its first page."""
    default, french, following = open_site_folder(FIXTURES / "docusaurus")
    assert [
        (one.url.removeprefix("https://owls.example/book/"), one.chapter) for one in default.pages
    ] == [
        ("docs/intro", "Introduction"),
        ("docs/senses/eyes", "Senses"),
        ("docs/senses/hearing/ears", "Senses"),
        ("docs/senses/hearing/discs", "Senses"),
        ("docs/life", "Life"),
        ("docs/nests", "Life"),
    ]
    assert default.title == "The Owl Book"
    assert default.left_out == {
        UNLISTED: ["docs/unlisted/index.html"],
        NO_TEXT: ["index.html"],
        FURNITURE: ["404.html"],
    }
    assert default.edition == Edition("1.0", "en", ("", ""))
    assert following.edition == Edition("next", "en", ("next", ""))
    assert following.base_url == "https://owls.example/book/docs/next"
    assert french.edition == Edition("1.0", "fr", ("", "fr"))
    assert [len(french.pages), len(following.pages)] == [2, 2]


def test_versions_that_mike_built() -> None:
    newest, oldest = open_site_folder(FIXTURES / "mkdocs-material")
    assert [(one.edition.version, one.edition.in_id) for one in (newest, oldest)] == [
        ("2.0", ("", "")),
        ("1.0", ("1.0", "")),
    ]
    assert [(one.title, one.chapter) for one in newest.pages] == [
        ("Home", "Home"),
        ("Eyes", "Guide"),
        ("Ears", "Guide"),
    ]
    assert newest.base_url == "https://owls.example/book/2.0"


SENSES = [("index.html", "The Owl Book", 0), ("eyes.html", "Eyes", 0), ("ears.html", "Ears", 0)]
RECORDED = {
    "zensical": (
        "material",
        [
            ("index.html", "Home", 0),
            *((f"guide/{x}/index.html", "Guide", 0) for x in ("eyes", "ears")),
        ],
    ),
    "jupyter-book": ("sphinx-book-theme", [("intro.html", "The Owl Book", 0), *SENSES[1:]]),
    "honkit": ("gitbook", SENSES),
    "latexml": ("latexml", [("Ch1.html", "Eyes", 1), ("Ch2.html", "Ears", 2)]),
    "mdbook": (
        "mdbook",
        [
            ("preface.html", "Preface", 0),
            ("eyes.html", "Eyes", 1),
            ("pupils.html", "Eyes", 1),
            ("ears.html", "Ears", 2),
        ],
    ),
    "pretext": ("pretext", [("eyes.html", "Eyes", 1), ("ears.html", "Ears", 2)]),
}


def test_an_mdbook_without_its_copy_of_the_first_chapter_and_its_page_of_all() -> None:
    assert only(FIXTURES / "mdbook").left_out == {
        NO_TEXT: ["index.html"],
        "noindex": ["toc.html", "print.html"],
        FURNITURE: ["404.html"],
    }


@pytest.mark.parametrize("name", RECORDED)
def test_small_sites_that_the_real_tools_built(name: str) -> None:
    theme, pages = RECORDED[name]
    book = read_book(FIXTURES / name)
    assert (book.site, book.title) == (theme, "The Owl Book")
    assert [(one.file, one.chapter, one.chapter_number) for one in book.documents] == pages
    texts = [(one.kind.value, one.text) for one in book.documents[-1].blocks][-2:]
    assert texts == [
        ("paragraph", "The left ear of a barn owl is higher than the right one."),
        ("list", "1. Sit still.\n2. Turn the head."),
    ]


@pytest.mark.parametrize(
    ("name", "base_url", "pages", "chapters"),
    [
        ("typer", "https://typer.tiangolo.com", 73, 7),
        ("rust-by-example", "https://doc.rust-lang.org/rust-by-example", 196, 25),
    ],
)
def test_real_sites(shared_data: Path, name: str, base_url: str, pages: int, chapters: int) -> None:
    site = only(shared_data / "sites" / name, base_url)
    assert len(site.pages) == pages
    assert len({one.chapter for one in site.pages}) == chapters
    assert all(one.title and one.url.startswith(base_url) for one in site.pages)
