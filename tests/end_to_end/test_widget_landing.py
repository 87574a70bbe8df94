"""Where a followed citation lands on a page that the widget does not know."""

import pytest
from playwright.sync_api import Page, expect

from tests.browsing import CITED, ForeignSite, ask, claim, reply

_TEXT = "Owls hunt at night. They see well. Owls hear even better than they see."


def cite(
    page: Page,
    owls: ForeignSite,
    quote: str,
    prefix: str = "",
    anchor: str = "",
    paragraph: str = "p-1",
) -> None:
    """Follow a citation of this quote on the site's page."""
    page.goto(owls.address)
    address = page.url + (f"#{anchor}" if anchor else "")
    reply(
        page, "Claim", citations=(claim(5, address, quote, paragraph_id=paragraph, prefix=prefix),)
    )
    ask(page, "Question?")
    page.locator(".tbr-ref").click()


_SEES = "They see well."
_TABS = f"""
<div><div role="tablist"><button role="tab">A</button>
<button role="tab" onclick="document.getElementById('x').hidden = false">B</button></div>
<div><div role="tabpanel"><p>No.</p></div>
<div role="tabpanel" id="x" hidden><p id="b">{_TEXT}</p></div></div></div>
"""
_RADIO_TABS = f"""
<style>#i:not(:checked) ~ div #y {{ display: none }}</style>
<div class="tabbed-set"><input type="radio" name="t" checked><input type="radio" name="t" id="i">
<div class="tabbed-content"><div class="tabbed-block">x</div>
<div class="tabbed-block" id="y"><p id="b">{_TEXT}</p></div></div></div>
"""
_CODE_GROUP = f"""
<style>.blocks > :not(.active) {{ display: none }}</style>
<div class="vp-code-group"><div class="tabs"><input type="radio" name="g" checked>
<input type="radio" name="g" onchange="document.getElementById('y').className = 'active'"></div>
<div class="blocks"><div class="active">x</div><div id="y"><pre id="b">{_TEXT}</pre></div></div>
</div>
"""
_COLLAPSED = f"""
<style>.collapse:not(.show) {{ display: none }}</style>
<button aria-controls="x" aria-expanded="false" onclick="x.className = 'show'">Solution</button>
<div class="collapse" id="x"><p id="b">{_TEXT}</p></div>
"""
_SCROLLED = (
    "<div style='height:150px;overflow:auto'>"
    f"{'<p>Bats.</p>' * 50}<p id=b>{_TEXT}</p>{'<p>Bats.</p>' * 9}</div>"
)
_EDITED = "<p id=a>Bats.</p><p id=b>Most owls hunt in the night, they see quite well.</p>"
_TWICE = "<p id=a>One. It is so here.</p><p id=b>Two. It is so here.</p>"
_FORMULA = "<p id=a>So <span class=katex>E = mc2 E=mc^2</span> holds.</p>"
_CODE = "def owl():\n    return 'hoot'"


@pytest.mark.parametrize(
    ("article", "quote", "prefix", "marked"),
    [
        pytest.param(f"<p id=a>No.</p><p id=b>{_TEXT}</p>", _SEES, "", "b", id="paragraph"),
        pytest.param("<ul><li id=a>Owls <b>hunt</b><li>Bats</ul>", "Owls hunt", "", "a", id="item"),
        pytest.param(_TWICE, "It is so here.", "Two. ", "b", id="twice, another prefix"),
        pytest.param(_EDITED, "Owls hunt at night. They see well.", "", "b", id="edited since"),
        pytest.param(f"<details><p id=a>{_TEXT}</p></details>", _SEES, "", "a", id="details"),
        pytest.param(_TABS, _SEES, "", "b", id="tabs of Docusaurus"),
        pytest.param(_RADIO_TABS, _SEES, "", "b", id="tabs of MkDocs"),
        pytest.param(_CODE_GROUP, _SEES, "", "b", id="tabs of VitePress"),
        pytest.param(_COLLAPSED, _SEES, "", "b", id="collapse of Bootstrap"),
        pytest.param(_SCROLLED, _SEES, "", "b", id="within what scrolls"),
        pytest.param(_FORMULA, "So $E = mc^2$ holds.", "", "a", id="formula"),
        pytest.param(f"<pre id=a>{_CODE}</pre>", _CODE, "", "a", id="code"),
    ],
)
def test_a_citation_lands_on_its_block(
    page: Page, owls: ForeignSite, article: str, quote: str, prefix: str, marked: str
) -> None:
    filler = "<p>Nothing of that kind stands here at all.</p>" * 60
    header = "<header style='position:sticky;top:0;height:80px;background:#fff'>Header</header>"
    owls.article = f"{header}{filler}{article}{filler}"
    cite(page, owls, quote, prefix)
    block = page.locator(f"#{marked}")
    expect(page.locator(CITED)).to_have_count(1)
    expect(page.locator(CITED)).to_have_attribute("id", marked)
    expect(block).to_be_in_viewport()
    box = block.bounding_box()
    assert box is not None
    assert box["y"] >= 80, "below the header"
    panel = page.locator(".tbr-panel").bounding_box()
    assert panel is None or box["x"] + box["width"] <= panel["x"], "beside the panel"


_LISTINGS = (
    f"<h2 id=s>First</h2><pre id=a>{_CODE}</pre><p>And again:</p><pre id=b>{_CODE}</pre>"
    f"<h2 id=t>Second</h2><pre id=c>{_CODE}</pre>"
)


@pytest.mark.parametrize(
    ("anchor", "paragraph", "marked"),
    [
        ("s", "p-00000000000", "a"),
        ("s", "p-00000000000-2", "b"),
        ("t", "p-00000000000-3", "c"),
        ("t", "p-00000000000-2", "c"),  # the first one is on another page
        ("", "p-00000000000-2", "b"),
    ],
)
def test_of_equal_listings_the_one_of_the_section_is_marked(
    page: Page, owls: ForeignSite, anchor: str, paragraph: str, marked: str
) -> None:
    owls.article = _LISTINGS
    cite(page, owls, _CODE, anchor=anchor, paragraph=paragraph)
    expect(page.locator(CITED)).to_have_count(1)
    expect(page.locator(CITED)).to_have_attribute("id", marked)


def test_a_glossary_entry_is_marked_without_the_others(page: Page, owls: ForeignSite) -> None:
    entry = "<dt>Owl</dt><dd>a bird that hunts at night.</dd>"
    owls.article = f"<dl><dt>Bat</dt><dd>a mammal that flies.</dd>{entry}</dl>"
    cite(page, owls, "Owl\na bird that hunts at night.")
    expect(page.locator(CITED)).to_have_text(["Owl", "a bird that hunts at night."])


def test_a_quote_of_formulas_alone_is_found_by_the_words_of_the_address(
    page: Page, owls: ForeignSite
) -> None:
    formula = "<span class=arithmatex>\\\\(x = 2\\\\)</span>"
    owls.article = f"<p id=a>Here.</p><p id=b>So {formula} is the weight.</p>"
    cite(page, owls, "$x = 2$", anchor=":~:text=is%20the%20weight")
    expect(page.locator(CITED)).to_have_attribute("id", "b")


def test_of_a_block_taller_than_a_screen_the_quote_is_shown(page: Page, owls: ForeignSite) -> None:
    items = [f"<li><p>Item {number} of the list.</p></li>" for number in range(60)]
    items[40] = f"<li><p>{_TEXT}</p><p id=more>More.</p></li>"
    owls.article = f"<ul id=all>{''.join(items)}</ul>"
    cite(page, owls, "better than they see. More.")
    expect(page.locator(CITED)).to_have_attribute("id", "all")
    expect(page.locator("#more")).to_be_in_viewport()


def test_a_page_without_a_doctype_scrolls_too(page: Page, owls: ForeignSite) -> None:
    filler = "<p>Bats hunt at night.</p>" * 99
    owls.doctype, owls.article = "", f"{filler}<p id=b>{_TEXT}</p>{filler}"
    cite(page, owls, _SEES)
    expect(page.locator("#b")).to_be_in_viewport()


def test_a_page_that_changed_says_so_and_goes_to_the_section(page: Page, owls: ForeignSite) -> None:
    filler = "<p>Nothing of that kind stands here at all.</p>" * 60
    owls.article = f"{filler}<h2 id='owls'>Owls</h2><p>Rewritten from the ground up.</p>{filler}"
    page.clock.install()
    cite(
        page, owls, "The barn owl's hearing is asymmetric, one ear above the other.", anchor="owls"
    )
    page.clock.run_for(6_000)
    expect(page.locator(".tbr-landing")).to_contain_text("has changed")
    expect(page.locator("#owls")).to_be_in_viewport()
    expect(page.locator(CITED)).to_have_count(0)


def test_marks_come_again_when_the_site_replaces_its_nodes(page: Page, owls: ForeignSite) -> None:
    owls.article = f"<div id=root><p id=a>{_TEXT}</p></div>"
    cite(page, owls, "They see well.")
    expect(page.locator(CITED)).to_have_count(1)
    page.evaluate(
        "const r = document.querySelector('#root'); r.innerHTML = r.innerHTML;"
        "r.firstChild.removeAttribute('data-textbook-rag-cited')"
    )
    expect(page.locator(CITED)).to_have_count(1)
