"""How answers look in the panel: Markdown, citations at their very place, nothing half open."""

import re
import unicodedata
from collections.abc import Sequence

import pytest
from playwright.sync_api import Page, expect

from tests.attacking import table
from tests.browsing import BOOK, PAGE, citation, restore, send, turn

# --- citations in Markdown ----------------------------------------------------------------------

_NUMBERED_WORDS = """\
# w0 **w1**

🦉 w2 &amp; *w3 w4* `w5 w6` [w7](/x) \\* w8, $x_1$ w9.

> w10 é **w11**
> ~~w12~~

1. w13 w14
    - w15 [w16](/x)
2. w17

| w18 | **w19** |
|---|:-:|
| w20 | [w21](/x) |

```python
w22 = 1
```
"""
_UNSUPPORTED = [(0, 1), (2, 9), (3, 5), (11, 12), (15, 16), (21, 21)]


@pytest.mark.parametrize("closing", ["", r"(\*+|`|~~|\]\(/x\))?"], ids=["inside", "outside"])
def test_citations_and_marks_stand_at_their_very_place(page: Page, site: str, closing: str) -> None:
    """A claim ends with a word, before or after the mark-up that ends there."""
    text, last = _NUMBERED_WORDS, 22
    places = [re.search(rf"(w{word})(?!\d){closing}", text) for word in range(last + 1)]
    spans = [found.span() for found in places if found]
    turns, sequences = [], []
    for number, (first, end) in enumerate(_UNSUPPORTED):
        cited = range(number % 3, last, 3)  # none inside the listing
        chips = {word: index for index, word in enumerate(cited, 1)}
        citations = [
            citation(index=index, start=spans[word][0], end=spans[word][1], url=f"/docs/{index}")
            for word, index in chips.items()
        ]
        said = {"start": spans[first][0], "end": spans[end][1], "supported": False}
        turns.append(turn(answer=text, citations=citations, statements=[said]))
        sequence = [[f"w{word}", f"[{chips.get(word)}]"] for word in range(last + 1)]
        sequences.append([one for words in sequence for one in words if one != "[None]"])
    restore(page, site + PAGE, turns, BOOK)
    expect(page.locator(".tbr-answer")).to_have_count(len(turns))
    texts = page.locator(".tbr-answer").evaluate_all("all => all.map(e => e.textContent)")
    marks = page.locator(".tbr-answer").evaluate_all(
        "all => all.map(e => [...e.querySelectorAll('.tbr-unsupported')]"
        ".map(m => m.textContent).join(' '))"
    )
    assert [re.findall(r"w\d+|\[\d+\]", text) for text in texts] == sequences
    assert [re.findall(r"w\d+", mark) for mark in marks] == [
        [f"w{word}" for word in range(first, end + 1)] for first, end in _UNSUPPORTED
    ]


# --- passages -----------------------------------------------------------------------------------


def passage(
    text: str, marks: Sequence[Sequence[int]] = (), heading: str = "T", url: str = "/docs/t"
) -> dict[str, object]:
    place = {"paragraph_id": "p-1", "url": url, "permalink": f"/cite/p-1?book={BOOK}"}
    shown = {"text": text, "marks": marks, "figures": [], "heading_path": [heading]}
    return {"paragraph_ids": ["p-1"], **shown, **place}


_STEPS = """\
1. Install the tool:

   ```sh
   - npm i owl
   ```
   - On a Mac:
     ```sh
     brew install owl
     ```
2. Run it.
"""


def test_code_of_a_list_item_stands_in_its_item(page: Page, site: str) -> None:
    said = "On a Mac:"
    start = _STEPS.index(said)
    steps = passage(_STEPS, [[start, start + len(said)]])
    restore(page, site + PAGE, [turn(mode="extractive", passages=[steps])], BOOK)
    items = page.locator(".tbr-passage ol > li")
    expect(items).to_have_count(2)
    expect(items.first.locator("pre")).to_have_count(2)
    nested = items.first.locator("ul > li")
    expect(nested).to_have_count(1)
    expect(nested.locator("pre")).to_contain_text("brew install owl")
    expect(page.locator(".tbr-passage .tbr-mark")).to_have_text(said)


def test_a_term_stands_above_its_definition(page: Page, site: str) -> None:
    entry = passage("owl\na bird of the night")
    restore(page, site + PAGE, [turn(mode="extractive", passages=[entry])], BOOK)
    assert page.locator(".tbr-passage p").inner_text() == "owl\na bird of the night"


# --- formulas -----------------------------------------------------------------------------------

_FUNCTION = re.compile(r"\\(arg|cos|exp|lim|ln|log|max|min|sin|tan)(?![A-Za-z])")
_COMMAND = re.compile(r"\\(?:begin|end)\{\w+\*?\}|\\[A-Za-z]+")
_NUMBERED = (
    r"\mathrm{BM25}",
    r"\mathrm {x 123}",
    r"\mathrm{\alpha12}",
    r"\frac{\mathrm{BM25}(d)}{\mathrm{a1b22}_{30}}",
    r"{\rm BM25} + \mathrm{tf}_{12}",
    r"\mathrm{H2O}^{12} \mathrm{25BM}",
    r"\mathit{ab123} \mathbf{ab123} \operatorname{bm25}",
    r"\text{RRF}(d) = \sum_{r \in R} \frac{1}{k + r(d)}",
    r"\begin{aligned} x_1 &= \log 2 \\ y &= \sqrt{10} \end{aligned}",
    r"\ce{6CO2 + 6H2O -> C6H12O6 + 6O2}",
)


def signs(text: str) -> str:
    """Return the letters and digits of ASCII, sorted: scripts and fractions have no one order."""
    return "".join(sorted(re.findall(r"[A-Za-z0-9]", unicodedata.normalize("NFKC", text))))


def test_no_letter_or_digit_of_a_formula_is_lost(page: Page, site: str) -> None:
    passages = [passage(f"Here ${tex}$.") for tex in _NUMBERED]
    turns = [turn(mode="extractive", passages=[one]) for one in passages]
    restore(page, site + PAGE, turns, BOOK)
    expect(page.locator(".tbr-formula math")).to_have_count(len(turns))
    found = page.locator(".tbr-formula math").evaluate_all("all => all.map(e => e.textContent)")
    for tex, shown in zip(_NUMBERED, found, strict=True):
        assert signs(shown) == signs(_COMMAND.sub(" ", _FUNCTION.sub(r"\1", tex))), tex


# --- streaming --------------------------------------------------------------------------------

_STREAMED = """\
# Owls and **hunting**

An owl *hunts* at **night with `quiet()` wings**, see [the notes](https://book.example/x_y) and \
$\\frac{a}{b}$ of __them__. It costs 5 * 3 = 15.

- one **bold
  still bold** end
- two

| bird | weight |
|---|---:|
| barn **owl** | `350` |
| tawny | 500 |

$$
\\sum_{i} x_i
$$

```python
print("**no bold**")
```

> A quote with _emphasis_.
"""
_FEED = """
window.answer = new Promise((resolve) => {
  const ask = window.fetch;
  window.fetch = (url, init) => {
    if (!String(url).endsWith("/v1/chat")) return ask(url, init);
    let controller;
    const body = new ReadableStream({ start: (made) => { controller = made; } });
    const encoder = new TextEncoder();
    window.send = (name, data) => controller.enqueue(encoder.encode(
      `event: ${name}\\ndata: ${JSON.stringify(data)}\\n\\n`));
    resolve();
    return Promise.resolve(new Response(body, { headers: { "Content-Type": "text/plain" } }));
  };
});
"""
# As many frames as are asked for, and no wait for the screen.
_FRAMES_AT_ONCE = """
window.requestAnimationFrame = (draw) => {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => draw(performance.now());
  port2.postMessage(null);
};
"""
_SHOWN_AFTER_EACH = """
async (chars) => {
  const widget = document.querySelector("textbook-rag").shadowRoot;
  const frame = () => new Promise(requestAnimationFrame);
  const shown = [];
  for (const text of chars) {
    send("delta", { text });
    await frame();
    await frame();
    const answer = widget.querySelector(".tbr-answer");
    const aside = answer ? [...answer.querySelectorAll(".tbr-formula, figcaption")] : [];
    const whole = answer?.textContent ?? "";
    shown.push(aside.reduce((text, f) => text.replace(f.textContent, ""), whole));
  }
  return shown;
}
"""


def test_a_streamed_answer_never_shows_half_open_markup(page: Page, site: str) -> None:
    page.add_init_script(_FEED + _FRAMES_AT_ONCE)
    page.goto(site + PAGE)
    send(page, "How do owls hunt?")
    page.evaluate("window.answer")
    page.evaluate("send('start', {mode: 'generated', confidence: 'answered'})")
    answer = page.locator(".tbr-answer")
    code = _STREAMED.index("print(")
    longest = 0
    for end, shown in enumerate(page.evaluate(_SHOWN_AFTER_EACH, list(_STREAMED)), 1):
        plain = re.sub(r"5 \* ?3?", "", shown).partition("print(")[0]
        assert not re.search(r"\*|`|\]\(|\||\$|__|\\|---|^#|^>", plain), (_STREAMED[:end], shown)
        # A word that was shown stays; only a blank at the end may go.
        words = len(re.findall(r"\w", shown))
        assert words >= longest or end >= code, (_STREAMED[:end], shown)
        longest = max(longest, words)
    expect(answer.locator("td").nth(3)).to_have_text("500")
    expect(answer.locator("pre")).to_have_text('print("**no bold**")')
    expect(answer.locator("math")).to_have_count(2)


@pytest.mark.parametrize("text", [">" * 1_000, "- " * 3_000, "**a _b " * 2_000 + "_** " * 2_000])
def test_what_is_nested_without_end_is_shown(page: Page, site: str, text: str) -> None:
    restore(page, site + PAGE, [turn(answer=f"{text}owl")], BOOK)
    expect(page.locator(".tbr-answer")).to_contain_text("owl")


# --- attacks ----------------------------------------------------------------------------------


def hostile_turn(text: str) -> dict[str, object]:
    """Return a turn with the text in every place where text of others is shown."""
    place = {
        "paragraph_id": text,
        "url": text,
        "permalink": f"/cite/p?book={text}",
        "title": text,
        "heading_path": [text],
    }
    cited = citation(end=3, quote=text, **place)
    return turn(
        text,
        answer=text,
        citations=[cited],
        sources=[place],
        degraded=[text],
        follow_ups=[text],
        searched_for=text,
        error=text,
    )


def test_text_of_others_runs_and_loads_nothing(page: Page, site: str) -> None:
    texts = [one["text"] for name in ("markup", "answers") for one in table(name)]
    turns = [hostile_turn(text) for text in texts]
    passages = [
        turn("passage", mode="extractive", passages=[passage(text, [[0, 2]], text, text)])
        for text in texts
    ]
    foreign: list[str] = []
    page.on(
        "request", lambda request: foreign.append(request.url) if "evil" in request.url else None
    )
    restore(page, site + PAGE, [*turns, *passages], BOOK)
    expect(page.locator(".tbr-question")).to_have_count(2 * len(texts))
    log = page.locator(".tbr-log")
    expect(log.locator("math").first).to_be_attached()
    tags = (
        "img, script, iframe, object, style, form, input, svg:not([aria-hidden]), [href^='data:']"
    )
    expect(log.locator(tags)).to_have_count(0)
    links = log.locator("[href]").evaluate_all("all => all.map(e => e.href.baseVal ?? e.href)")
    assert all(link.startswith(("http://", "https://")) for link in links)
    handlers = log.evaluate(
        "e => [...e.querySelectorAll('*')].flatMap(x => x.getAttributeNames())"
        ".filter(n => n.startsWith('on'))"
    )
    assert handlers == []
    assert page.evaluate("window.attacked") is None
    assert [address for address in foreign if "evil" in address] == []
