// Mark a range of the page and bring it into sight.

const BLOCKS = "p, li, pre, tr, dd, dt, figcaption, h1, h2, h3, h4, h5, h6, blockquote, summary, figure, td, th, [data-paragraph-id]";
const GROUPS = "table, ul, ol, blockquote, details, aside, .theme-admonition, .admonition";
const BLOCK_MARK = "textbook-rag-block";
const QUOTE_MARK = "textbook-rag-quote";
const ATTRIBUTE = "data-textbook-rag-cited";
const STYLE = `
::highlight(${BLOCK_MARK}) { background-color: var(--textbook-rag-block-mark, rgb(255 213 79 / calc(var(--textbook-rag-strength, 1) * 26%))); }
::highlight(${QUOTE_MARK}) { background-color: var(--textbook-rag-mark, rgb(255 193 7 / calc(var(--textbook-rag-strength, 1) * 42%))); }
::highlight(textbook-rag-term) { text-decoration: underline dotted 2px #2f6fd0; }
:where([${ATTRIBUTE}]) { outline: 2px solid var(--textbook-rag-edge, #d99a00); outline-offset: 3px; border-radius: 2px; scroll-margin: 6rem; }
[${ATTRIBUTE}]::target-text, [${ATTRIBUTE}] *::target-text { background: transparent; color: inherit; }
@media print { :where([${ATTRIBUTE}]) { outline: none; } }
`;
const GAP = 20;

let styled = false;

/** Add the few rules for marks to the page. A constructed sheet is allowed by every CSP. */
export function addStyle(): void {
  if (styled) return;
  styled = true;
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLE);
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
}

const highlights = () => (typeof Highlight === "function" && CSS.highlights ? CSS.highlights : null);

/** Return the block of the page that holds the range: the paragraph, item, listing, row. */
export function blocksOf(range: Range, root: Element): Element[] {
  const block = (node: Node) => {
    const element = node instanceof Element ? node : node.parentElement;
    const found = element?.closest(BLOCKS);
    return found && root.contains(found) ? found : element;
  };
  const first = block(range.startContainer);
  const last = block(range.endContainer);
  if (!first || !last) return [];
  if (first === last || first.contains(last)) return [first];
  if (last.contains(first)) return [last];
  const common = range.commonAncestorContainer;
  const holder = common instanceof Element ? common : common.parentElement;
  // A term and its definition, not the whole glossary.
  const group = holder?.localName === "dl" ? null : holder?.closest(GROUPS);
  if (group && root.contains(group)) return [group];
  const blocks = [...root.querySelectorAll(BLOCKS)].filter((each) => range.intersectsNode(each) && !each.querySelector(BLOCKS));
  return blocks.length ? blocks : [first, last];
}

export function mark(blocks: readonly Element[], quote: Range | null): void {
  unmark();
  addStyle();
  const ranges = blocks.map((block) => {
    const range = document.createRange();
    range.selectNodeContents(block);
    return range;
  });
  highlights()?.set(BLOCK_MARK, new Highlight(...ranges));
  if (quote) highlights()?.set(QUOTE_MARK, new Highlight(quote));
  // Also an attribute: for browsers without highlights, for site owners' styles, for blocks without text.
  for (const block of blocks) block.setAttribute(ATTRIBUTE, "");
}

export function unmark(): void {
  highlights()?.delete(BLOCK_MARK);
  highlights()?.delete(QUOTE_MARK);
  for (const block of document.querySelectorAll(`[${ATTRIBUTE}]`)) block.removeAttribute(ATTRIBUTE);
}

/** Height of what stays at the window's top while the page scrolls. */
function stickyHeight(x: number): number {
  let height = 0;
  for (let y = 0; y < innerHeight / 3; y += 8) {
    const stuck = document.elementsFromPoint(x, y).some((element) => {
      if (element.localName === "textbook-rag") return false;
      const { position } = getComputedStyle(element);
      if (position !== "fixed" && position !== "sticky") return false;
      const box = element.getBoundingClientRect();
      return box.top <= height + 8 && box.height < innerHeight / 2;
    });
    if (stuck) height = y + 8;
  }
  return height;
}

function boxOf(blocks: readonly Element[]): { top: number; bottom: number; left: number; right: number } {
  const boxes = blocks.map((block) => block.getBoundingClientRect());
  return {
    top: Math.min(...boxes.map((box) => box.top)),
    bottom: Math.max(...boxes.map((box) => box.bottom)),
    left: Math.min(...boxes.map((box) => box.left)),
    right: Math.max(...boxes.map((box) => box.right)),
  };
}

/** What is to be seen: the blocks, or the quote of blocks that are taller than what is free of header, bottom and elements that scroll. */
function aim(blocks: readonly Element[], quote: Range | null, free: number, around: readonly Element[]): { top: number; height: number; from: number; to: number; room: number } {
  const box = boxOf(blocks);
  const clips = around.map((each) => each.getBoundingClientRect());
  const from = Math.max(stickyHeight((box.left + Math.min(box.right, innerWidth)) / 2), ...clips.map((clip) => clip.top));
  const to = Math.min(free, ...clips.map((clip) => clip.bottom));
  const room = to - from - 2 * GAP;
  const height = box.bottom - box.top;
  const words = quote?.getBoundingClientRect();
  const { top, height: seen } = height > room && words && words.height > 0 ? words : { top: box.top, height };
  return { top, height: seen, from, to, room };
}

/** Scroll the blocks to the middle of what is free, or to its top if they are taller: the page first, then what scrolls within it. */
export function scrollTo(blocks: readonly Element[], quote: Range | null, free = innerHeight): void {
  const inside = scrollers(blocks[0]);
  [document.scrollingElement ?? document.documentElement, ...inside].forEach((each, index) => {
    const next = inside[index];
    const { top, height, from, room } = aim(next ? [next] : blocks, next ? null : quote, free, inside.slice(0, index));
    each.scrollBy({ top: top - from - GAP - Math.max(0, (room - height) / 2), behavior: "instant" });
  });
}

/** The elements around this one that scroll, the outermost first: the main part of an app, a long table or output. */
function scrollers(element: Element | undefined): Element[] {
  const found: Element[] = [];
  for (let each = element?.parentElement; each && each !== document.body; each = each.parentElement) {
    const { overflowY } = getComputedStyle(each);
    if ((overflowY === "auto" || overflowY === "scroll") && each.scrollHeight > each.clientHeight + 40) found.unshift(each);
  }
  return found;
}

export function isInSight(blocks: readonly Element[], quote: Range | null, free = innerHeight): boolean {
  const { top, height, from, to, room } = aim(blocks, quote, free, scrollers(blocks[0]));
  return height > 0 && top >= from && top + Math.min(height, room) <= to;
}
