"""Check the target of a followed citation: the right blocks are highlighted and visible."""

from typing import Any

from playwright.async_api import Page

_VERDICT = """
(right, cited, fits) => {
  const marked = [...document.querySelectorAll(cited)];
  const boxes = (marked.length ? marked : right).map((each) => each.getBoundingClientRect());
  const top = Math.min(...boxes.map((box) => box.top));
  const bottom = Math.max(...boxes.map((box) => box.bottom));
  const box = boxes[0];
  let seen = Boolean(box) && bottom > 0 && top < innerHeight && box.height > 0;
  if (seen) {
    // A point of what is on the screen of the block that neither the header nor the panel covers.
    const points = boxes.flatMap((each) => {
      const from = Math.max(each.top, 0);
      const height = Math.min(each.bottom, innerHeight) - from;
      return [0.1, 0.3, 0.5, 0.7, 0.9].map((share) =>
        [each.left + Math.min(each.width / 2, 60), from + height * share]);
    });
    const elements = marked.length ? marked : right;
    seen = points.some(([x, y]) => {
      const hit = document.elementFromPoint(x, y);
      return hit && elements.some((each) =>
        each.contains(hit) || hit.contains(each) && hit.closest('main'));
    });
  }
  // Of a block that is taller than the screen, the quote.
  const [quote] = CSS.highlights.get('textbook-rag-quote') ?? [];
  if (seen && quote && bottom - top > innerHeight) {
    const words = quote.getClientRects()[0];
    seen = Boolean(words) && words.bottom > 0 && words.top < innerHeight;
  }
  const good = marked.length > 0 && marked.every(fits);
  return { marked: marked.length, right: right.length, fits: good, seen };
}
"""

_BY_TEXT = """
async ([text, nth, cited]) => {
  const roots = ['article', 'main', '[role=main]', 'body'];
  const root = roots.map((each) => document.querySelector(each))
    .find((each) => each && (each.tagName !== 'ARTICLE' || each.querySelector('h1')));
  const unread = 'script, style, nav, button, .headerlink, .boring, .footnote-ref, '
    + '.linenos, .lineno, textbook-rag';
  const blocks = 'p, li, pre, td, th, dt, dd, summary, h1, h2, h3, h4, h5, h6, caption, div, body';
  const letters = (string) =>
    string.normalize('NFKC').toLowerCase().replace(/[^\\p{L}\\p{N}]+/gu, '');
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const nodes = [];
  let all = '';
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const own = node.parentElement.closest(unread) ? '' : letters(node.data);
    if (own) nodes.push([node.parentElement.closest(blocks), all.length, own.length]);
    all += own;
  }
  let at = all.indexOf(text);
  for (let left = nth; left > 0 && at >= 0; left--) at = all.indexOf(text, at + text.length);
  const ours = nodes.filter(([, from, size]) => from < at + text.length && from + size > at);
  const right = at < 0 ? [] : [...new Set(ours.map(([block]) => block))];
  const fits = (each) => right.some((block) => block.contains(each)
    || each.contains(block) && letters(each.textContent).length < 3 * text.length + 40);
  return (VERDICT)(right, cited, fits);
}
""".replace("VERDICT", _VERDICT)


async def by_text(page: Page, text: str, nth: int, cited: str) -> dict[str, Any]:
    """Check by the block's letters and digits, at their `nth` occurrence on the page."""
    judged: dict[str, Any] = await page.evaluate(_BY_TEXT, [text, nth, cited])
    return judged
