// Terms of the glossary, underlined where they first stand on the page.
import type { Term } from "./api";
import { addStyle } from "./landing/show";
import { mainContent } from "./landing/text";

const MARK = "textbook-rag-term";
let ranges: [Range, Term][] = [];
let listener: AbortController | null = null;

/** Underline the terms; `open` is called with a term that is clicked and where it stands. */
export function underline(terms: readonly Term[], open: (found: { term: Term; box: DOMRect } | null) => void): void {
  listener?.abort();
  if (typeof Highlight !== "function" || !CSS.highlights) return;
  ranges = terms.flatMap((term) => {
    const range = firstRange(term.forms.length ? term.forms : [term.term]);
    return range ? [[range, term] as [Range, Term]] : [];
  });
  CSS.highlights.delete(MARK);
  open(null);
  if (!ranges.length) return;
  addStyle();
  CSS.highlights.set(MARK, new Highlight(...ranges.map(([range]) => range)));
  listener = new AbortController();
  document.addEventListener("click", (event) => open(termAt(event.clientX, event.clientY)), { signal: listener.signal });
}

function termAt(x: number, y: number): { term: Term; box: DOMRect } | null {
  for (const [range, term] of ranges) {
    for (const box of range.getClientRects()) {
      if (x >= box.left && x <= box.right && y >= box.top && y <= box.bottom) return { term, box };
    }
  }
  return null;
}

function firstRange(forms: readonly string[]): Range | null {
  const walker = document.createTreeWalker(mainContent(), NodeFilter.SHOW_TEXT);
  const patterns = forms.map((form) => new RegExp(`(?<![\\p{L}\\p{N}])${form.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}(?![\\p{L}\\p{N}])`, "iu"));
  while (walker.nextNode()) {
    const node = walker.currentNode as Text;
    if (node.parentElement?.closest("h1, h2, h3, pre, a, button")) continue;
    for (const pattern of patterns) {
      const found = pattern.exec(node.data);
      if (!found) continue;
      const range = document.createRange();
      range.setStart(node, found.index);
      range.setEnd(node, found.index + found[0].length);
      return range;
    }
  }
  return null;
}
