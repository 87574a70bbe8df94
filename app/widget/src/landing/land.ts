// Show the paragraph that a citation names on the page that is open, and keep it shown while the page is
// still being built.
import { fragmentText, type Target } from "../links";
import { findQuote, type Found, type Hint } from "./find";
import { reveal } from "./reveal";
import { blocksOf, isInSight, mark, scrollTo, unmark } from "./show";
import { hasWords, mainContent, rangeOf, readPage, type PageText } from "./text";

export type Landing = "landed" | "changed" | "missing";

const CHECK_MS = 150; // while the page is still being built
const RECHECKS = 40;
const SETTLED = 8; // checks in a row without a change
const LATER_MS = 500; // slow devices: a framework may replace its nodes seconds after the page is loaded
const LATER = 40;
const REVEAL_MS = 350; // details and tabs open with an animation

let current: AbortController | null = null;

/** Resolve when the target is shown, or when the page turns out not to have it. */
export function land(target: Target, freeHeight: () => number = () => innerHeight): Promise<Landing> {
  current?.abort();
  const controller = new AbortController();
  current = controller;
  return new Promise((resolve) => new Watch(target, freeHeight, controller.signal, resolve).check());
}

export function forget(): void {
  current?.abort();
  unmark();
}

class Watch {
  private checks = 0;
  private calm = 0;
  private moved = false;
  private shown: { blocks: Element[]; quote: Range | null } | null = null;
  private searched = "";

  constructor(
    private readonly target: Target,
    private readonly freeHeight: () => number,
    private readonly signal: AbortSignal,
    private readonly resolve: (landing: Landing) => void,
  ) {
    const options = { passive: true, signal } as const;
    for (const type of ["wheel", "touchmove", "keydown", "pointerdown"]) {
      addEventListener(type, (event) => (this.moved ||= event.isTrusted), options);
    }
  }

  check(): void {
    if (this.signal.aborted) return;
    this.checks += 1;
    if (!this.stillShown()) this.show();
    else if (this.aside()) this.scroll();
    else this.calm += 1;
    const settled = this.shown && this.calm >= SETTLED && document.readyState === "complete";
    if (settled) this.checks = Math.max(this.checks, RECHECKS);
    if (this.checks === RECHECKS && !this.shown) return this.giveUp();
    // From now on what is replaced is marked again, and nothing scrolls.
    if (this.checks >= RECHECKS) this.moved = true;
    if (this.checks < RECHECKS + LATER) setTimeout(() => this.check(), this.checks < RECHECKS ? CHECK_MS : LATER_MS);
  }

  /** Frameworks replace nodes after the page is loaded. */
  private stillShown(): boolean {
    if (!this.shown) return false;
    const { blocks, quote } = this.shown;
    // What the reader has closed since stays closed.
    const there = blocks.every((block) => block.isConnected && (this.moved || block.getClientRects().length > 0));
    return there && (!quote || (quote.startContainer.isConnected && !quote.collapsed));
  }

  /** Images push the text down, and the browser goes to the address's own words. */
  private aside(): boolean {
    return !this.moved && this.shown !== null && !isInSight(this.shown.blocks, this.shown.quote, this.freeHeight());
  }

  private scroll(): void {
    if (!this.moved && !this.signal.aborted && this.shown) scrollTo(this.shown.blocks, this.shown.quote, this.freeHeight());
  }

  private show(): void {
    // A page that has not changed since does not have it now.
    const text = mainContent().textContent ?? "";
    if (!this.shown && text === this.searched) return;
    this.searched = text;
    const found = locate(this.target);
    if (!found) return;
    this.calm = 0;
    const first = found.blocks[0];
    const opened = first ? reveal(first) : false;
    mark(found.blocks, found.quote);
    this.shown = found;
    this.scroll();
    if (opened) setTimeout(() => this.scroll(), REVEAL_MS);
    if (!this.moved) focus(first);
    this.resolve("landed");
  }

  private giveUp(): void {
    if (!this.target.quote) return this.resolve("missing");
    const heading = headingOf(this.target);
    if (heading && !this.moved) scrollTo([heading], null, this.freeHeight());
    this.resolve("changed");
  }
}

/** Focus moves to the paragraph, so that Tab and a screen reader go on from there. */
function focus(element: Element | undefined): void {
  const active = document.activeElement;
  if (!(element instanceof HTMLElement) || (active && active.localName === "textbook-rag")) return;
  if (!element.hasAttribute("tabindex")) element.tabIndex = -1;
  element.focus({ preventScroll: true });
}

function headingOf(target: Target): Element | null {
  try {
    const anchor = decodeURIComponent(new URL(target.url, location.href).hash.slice(1).split(":~:")[0] ?? "");
    return anchor ? document.getElementById(anchor) : null;
  } catch {
    return null;
  }
}

function locate(target: Target): { blocks: Element[]; quote: Range | null } | null {
  const own = target.id ? ownElements(target.id) : [];
  const root = own[0] ? (own.length > 1 ? mainContent() : own[0]) : mainContent();
  const page = readPage(root);
  const found = target.quote ? find(page, target) : null;
  const quote = found && rangeOf(page, found.from, found.to);
  // The author's site has the ids itself: no text can be more exact.
  if (own.length) return { blocks: own, quote };
  if (!quote) return null;
  const blocks = blocksOf(quote, root);
  return blocks.length ? { blocks, quote } : null;
}

function find(page: PageText, target: Target): Found | null {
  const hint = hintOf(page, target);
  const found = findQuote(page, target, hint);
  // A quote of formulas alone has no words on the page; those of its paragraph are in the address.
  return found ?? (hasWords(target.quote) ? null : findQuote(page, { quote: fragmentText(target.url), prefix: "", suffix: "" }, hint));
}

function ownElements(id: string): Element[] {
  const named = [...document.querySelectorAll(`[data-paragraph-id="${CSS.escape(id)}"]`)];
  const byId = named.length ? null : document.getElementById(id);
  return byId ? [byId] : named;
}

function hintOf(page: PageText, target: Target): Hint {
  const heading = headingOf(target);
  const headings = [...page.root.querySelectorAll("h1, h2, h3, h4, h5, h6")];
  const next = heading && headings.find((each) => heading.compareDocumentPosition(each) & Node.DOCUMENT_POSITION_FOLLOWING && !heading.contains(each));
  // The second paragraph of the book with the same text is `p-...-2`.
  const nth = Number(/^p-\w+-(\d+)$/.exec(target.id)?.[1] ?? 1) - 1;
  return { start: heading ? positionOf(page, heading) : 0, end: next ? positionOf(page, next) : Infinity, nth };
}

/** Position in the page's text at which the element stands. */
function positionOf(page: PageText, element: Element): number {
  const index = page.nodes.findIndex((node) => element.compareDocumentPosition(node) & (Node.DOCUMENT_POSITION_FOLLOWING | Node.DOCUMENT_POSITION_CONTAINED_BY));
  return index < 0 ? page.text.length : (page.starts[index] ?? 0);
}
