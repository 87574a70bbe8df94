// Find a quoted text on a page: exactly, by what stands around it, or approximately.
import search from "approx-string-match";
import { quoteForms, type PageText } from "./text";

export interface Found {
  from: number;
  to: number;
  how: "exact" | "part" | "fuzzy";
}

export interface Quote {
  quote: string;
  prefix: string;
  suffix: string;
}

const MIN_FUZZY = 16; // letters; a shorter text is similar to too much
const MAX_PATTERN = 400;
const MAX_ERRORS = 0.35; // share of a pattern's letters
const MIN_PART = 24;

/** What decides between places that have the same text around them. */
export interface Hint {
  /** Where the quote's section begins and ends in the page's text. */
  start: number;
  end: number;
  /** How often the paragraph's text stands in the book before. */
  nth: number;
}

const NO_HINT: Hint = { start: 0, end: Infinity, nth: 0 };

/** Return where the quote stands, null if it is not there. */
export function findQuote(page: PageText, quote: Quote, hint = NO_HINT): Found | null {
  const forms = quoteForms(quote.quote);
  const before = quoteForms(quote.prefix)[0] ?? "";
  const behind = quoteForms(quote.suffix)[0] ?? "";
  for (const wanted of forms) {
    const found = best(page, occurrences(page.text, wanted), wanted.length, before, behind, hint, "exact");
    if (found) return found;
  }
  const wanted = forms[0];
  if (!wanted) return null;
  return longestPart(page, wanted, before, behind, hint) ?? similar(page, wanted, before, behind, hint);
}

function occurrences(text: string, wanted: string): number[] {
  const found: number[] = [];
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + 1)) found.push(at);
  return found;
}

function best(page: PageText, starts: readonly number[], size: number, before: string, behind: string, hint: Hint, how: Found["how"]): Found | null {
  let found: Found | null = null;
  let most = -1;
  starts.forEach((from, index) => {
    const to = from + size;
    const context = commonEnd(page.text.slice(Math.max(0, from - before.length), from), before) + commonStart(page.text.slice(to, to + behind.length), behind);
    const score = context + expected(from, hint) + (index === hint.nth ? 0.125 : 0);
    if (score > most) {
      most = score;
      found = { from, to, how };
    }
  });
  return found;
}

/** Less than a letter: it decides between equals only. */
function expected(from: number, { start, end }: Hint): number {
  if (from < start) return 0;
  return from < end ? 0.5 : 0.25;
}

/** The quote's first or last half, if it stands on the page exactly: the other may be markup or an include. */
function longestPart(page: PageText, wanted: string, before: string, behind: string, hint: Hint): Found | null {
  for (const share of [0.75, 0.5]) {
    const size = Math.floor(wanted.length * share);
    if (size < MIN_PART) return null;
    const head = best(page, occurrences(page.text, wanted.slice(0, size)), size, before, "", hint, "part");
    if (head) return head;
    const tail = best(page, occurrences(page.text, wanted.slice(-size)), size, "", behind, hint, "part");
    if (tail) return tail;
  }
  return null;
}

function similar(page: PageText, wanted: string, before: string, behind: string, hint: Hint): Found | null {
  if (wanted.length < MIN_FUZZY) return null;
  const pattern = wanted.slice(0, MAX_PATTERN);
  const matches = search(page.text, pattern, Math.floor(pattern.length * MAX_ERRORS));
  let found: Found | null = null;
  let least = Infinity;
  for (const match of matches) {
    const context = commonEnd(page.text.slice(Math.max(0, match.start - before.length), match.start), before) + commonStart(page.text.slice(match.end, match.end + behind.length), behind);
    const cost = match.errors - context / 4 - expected(match.start, hint);
    if (cost < least) {
      least = cost;
      found = { from: match.start, to: match.end, how: "fuzzy" };
    }
  }
  return found;
}

function commonStart(a: string, b: string): number {
  let size = 0;
  while (size < a.length && size < b.length && a[size] === b[size]) size++;
  return size;
}

function commonEnd(a: string, b: string): number {
  let size = 0;
  while (size < a.length && size < b.length && a[a.length - 1 - size] === b[b.length - 1 - size]) size++;
  return size;
}
