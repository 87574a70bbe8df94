// The text of a page as the book's index sees it: letters and digits alone, in lower case.
//
// Formulas are left out on both sides: the book has TeX where the page has whatever its renderer made.

const SKIPPED = [
  "script", "style", "noscript", "template", "textbook-rag", ".hash-link", ".headerlink", ".header-anchor",
  "a.anchor[aria-hidden]", "[data-footnote-ref]", "[data-footnote-backref]", ".footnote-ref", ".footnote-backref",
  "sup.footnote-reference", "a.footnote", "button", "select", ".table-of-contents", ".theme-doc-toc-mobile",
  "math", ".katex", ".katex-display", ".MathJax", "mjx-container", ".math", ".arithmatex", ".linenos", ".linenodiv", ".lineno",
].join(",");
const ROOTS = [
  "article .theme-doc-markdown", "article .markdown", "article.md-content__inner", "[role=main] article", "main article",
  "main#quarto-document-content", "#content main", "main", "[role=main]", "article", "body",
];
const KEPT = /[\p{L}\p{N}]/u;
const ASCII = /[^a-z0-9]+/g;

export interface PageText {
  readonly root: Element;
  readonly text: string;
  /** Text nodes in order, and the position in `text` at which each begins. */
  readonly nodes: readonly Text[];
  readonly starts: readonly number[];
}

/** Return the letters and digits of a text, in lower case. */
export function letters(text: string): string {
  const lower = text.toLowerCase();
  if (/^[\x00-\x7f]*$/.test(lower)) return lower.replace(ASCII, "");
  let kept = "";
  for (const char of text.normalize("NFKC").toLowerCase()) if (KEPT.test(char)) kept += char;
  return kept;
}

/**
 * Return what to look for on the page for a quote, the best first.
 *
 * Formulas, fences and link targets of its Markdown are left out, and of the first form the numbers of
 * list items too: browsers draw these.
 */
export function quoteForms(quote: string): string[] {
  const plain = withoutMarkup(quote);
  const forms = [plain.replace(/^\s*\d{1,3}[.)]\s/gm, " "), plain, quote].map(letters);
  return [...new Set(forms)].filter(Boolean);
}

/** Whether the quote has more than formulas. */
export function hasWords(quote: string): boolean {
  return letters(withoutMarkup(quote)) !== "";
}

/** The quote without formulas, fences and targets of links. */
function withoutMarkup(quote: string): string {
  return quote
    .replace(/\$\$[\s\S]+?\$\$|\\\[[\s\S]+?\\\]|\\\([\s\S]+?\\\)/g, " ")
    .replace(/\$(?=\S)[^$\n]*?(?<=\S)\$(?!\d)/g, " ")
    .replace(/^(`{3,}|~{3,}).*$/gm, " ")
    .replace(/\]\([^)\s]*\)/g, " ");
}

/** Return the content of the page. An article without the title is only a part of it. */
export function mainContent(): Element {
  for (const selector of ROOTS) {
    const found = document.querySelector(selector);
    if (found && (found.querySelector("h1") || !selector.endsWith("article"))) return found;
  }
  return document.body;
}

export function readPage(root: Element = mainContent()): PageText {
  const nodes: Text[] = [];
  const starts: number[] = [];
  let text = "";
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT, (node) => {
    if (node instanceof Element) return node.matches(SKIPPED) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_SKIP;
    return NodeFilter.FILTER_ACCEPT;
  });
  while (walker.nextNode()) {
    const node = walker.currentNode as Text;
    const own = letters(node.data);
    if (!own) continue;
    nodes.push(node);
    starts.push(text.length);
    text += own;
  }
  return { root, text, nodes, starts };
}

/** Return the place in the page of a position in its text: before that letter, or behind it. */
export function placeOf(page: PageText, position: number, behind = false): [Text, number] | null {
  const letter = behind ? position - 1 : position;
  let low = 0;
  let high = page.starts.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((page.starts[middle] ?? 0) <= letter) low = middle;
    else high = middle;
  }
  const node = page.nodes[low];
  if (!node) return null;
  let left = letter - (page.starts[low] ?? 0);
  let offset = 0;
  for (const char of node.data) {
    const size = letters(char).length;
    if (left < size) return [node, behind ? offset + char.length : offset];
    left -= size;
    offset += char.length;
  }
  return [node, node.data.length];
}

export function rangeOf(page: PageText, from: number, to: number): Range | null {
  const start = placeOf(page, from);
  const end = placeOf(page, to, true);
  if (!start || !end) return null;
  const range = document.createRange();
  range.setStart(...start);
  range.setEnd(...end);
  return range;
}
