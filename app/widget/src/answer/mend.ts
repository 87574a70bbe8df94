// Markdown that is still being written: no half-open markup is shown.
//
// Emphasis and code that are open are closed at the end. What cannot be shown in part (links, formulas,
// the first lines of a table, a marker without text) is held back until it is whole.

const HELD_LINE = /^[ \t>]*(?:[-*+]|\d{1,9}[.)]?|#{1,6}|[-=]+|`{1,3}[^`\n]*|~{1,3}[^~\n]*|\${1,2})?[ \t]*$/;
const HELD_TAIL = /(?:[*_~`\\$]+|&#?\w{0,30}|<[^>\s]{0,200})$/;
const MAX_FORMULA = 300;
const MAX_LINK = 1_000;

interface Open {
  mark: string;
  at: number;
}

/** Return what can be shown of `text`; all positions up to its length are the same in both. */
export function mend(text: string): { text: string; closing: string } {
  const fence = openFence(text);
  if (fence === "code") return { text, closing: "" };
  let shown = fence === "formula" ? text.slice(0, text.lastIndexOf("\n$$") + 1 || 0) : text;
  shown = withoutHalfLine(shown);
  const start = blockStart(shown);
  shown = withoutTableHead(shown, start);
  const [cut, open] = openMarks(shown, start);
  shown = shown.slice(0, cut);
  if (open.length) shown = shown.trimEnd();
  // A mark with nothing behind it yet is held back.
  const empty = open.filter((each) => each.at + each.mark.length >= shown.length);
  const end = Math.min(shown.length, ...empty.map((each) => each.at));
  const closing = open.filter((each) => !empty.includes(each)).reverse();
  return { text: shown.slice(0, end), closing: closing.map((each) => each.mark).join("") };
}

function openFence(text: string): "code" | "formula" | "" {
  let open = "";
  for (const line of text.split("\n").slice(0, -1)) {
    const mark = /^[ \t>]*(?:[-*+]\s+|\d+[.)]\s+)?(`{3,}|~{3,}|\$\$)(.*)$/.exec(line);
    if (open === "$$") {
      if (/\$\$\s*$/.test(line)) open = "";
    } else if (!mark) continue;
    else if (!open) {
      if (mark[1] !== "$$" || !mark[2]?.trim()) open = mark[1] ?? "";
    } else if (mark[1]?.startsWith(open) && !mark[2]?.trim()) open = "";
  }
  const last = text.slice(text.lastIndexOf("\n") + 1);
  if (open === "$$") return /\$\$\s*$/.test(last) ? "" : "formula";
  return open ? "code" : "";
}

function withoutHalfLine(text: string): string {
  const start = text.lastIndexOf("\n") + 1;
  return HELD_LINE.test(text.slice(start)) ? text.slice(0, start) : text;
}

function blockStart(text: string): number {
  const blank = text.lastIndexOf("\n\n");
  return blank < 0 ? 0 : blank + 2;
}

/** Hold back a table's header until the line below it is whole. */
function withoutTableHead(text: string, start: number): string {
  const lines = text.slice(start).split("\n");
  const head = lines.findIndex((line) => /^\s*\|/.test(line));
  if (head < 0 || lines.length - head > 2) return text;
  return text.slice(0, start + lines.slice(0, head).join("\n").length);
}

/** Return where the shown text ends and the marks that are open there. */
function openMarks(text: string, start: number): [number, Open[]] {
  const tail = HELD_TAIL.exec(text.slice(start));
  const end = tail && !isClosing(text, start, start + tail.index) ? start + tail.index : text.length;
  const open: Open[] = [];
  for (let at = start; at < end; ) {
    const char = text[at] ?? "";
    if (char === "\\") at += 2;
    else if (char === "`") {
      const run = /^`+/.exec(text.slice(at))?.[0] ?? "`";
      const close = closingRun(text, at + run.length, end, run);
      if (close < 0) return [end, [...open, { mark: run, at }]];
      at = close + run.length;
    } else if (char === "$") {
      const run = text[at + 1] === "$" ? "$$" : "$";
      const close = text.indexOf(run, at + run.length);
      if ((close < 0 || close >= end) && end - at < MAX_FORMULA && !/\s/.test(text[at + run.length] ?? " ")) return [at, open];
      at = close < 0 || close >= end ? at + run.length : close + run.length;
    } else if (char === "[") {
      const close = linkEnd(text, at, end);
      if (close < 0 && end - at < MAX_LINK) return [at, open];
      at = close < 0 ? at + 1 : close;
    } else if (char === "*" || char === "_" || text.startsWith("~~", at)) {
      at += emphasis(text, at, open);
    } else if (char === "\n" && /^\n[ \t>]*(?:[-*+] |\d+[.)] |\||#)/.test(text.slice(at, at + 16))) {
      open.length = 0; // emphasis ends with its block
      at += /^\n[ \t>]*(?:[-*+] )?/.exec(text.slice(at))?.[0].length ?? 1;
    } else at += 1;
  }
  return [end, open];
}

/** Whether the run at the end closes what is open: then it is shown. */
function isClosing(text: string, start: number, at: number): boolean {
  const run = text.slice(at);
  if (!/^(?:\*+|_+|`+|~~|\$+)$/.test(run)) return false;
  const [, open] = openMarks(`${text.slice(0, at)}x`, start);
  if (run[0] === "$") {
    const before = text.slice(start, at).split("\n").at(-1) ?? "";
    return before.split(run).length % 2 === 0;
  }
  return open.at(-1)?.mark === run || open.map((each) => each.mark).reverse().join("") === run;
}

function closingRun(text: string, from: number, end: number, run: string): number {
  const found = new RegExp(`(?<!\`)${run}(?!\`)`, "g");
  found.lastIndex = from;
  const match = found.exec(text);
  return match && match.index < end ? match.index : -1;
}

/** Position after the link or the brackets; -1 while they are open. */
function linkEnd(text: string, at: number, end: number): number {
  const close = text.indexOf("]", at);
  if (close < 0 || close >= end || close + 1 === end) return -1;
  if (text[close + 1] !== "(") return close + 1;
  const target = text.indexOf(")", close);
  return target < 0 || target >= end ? -1 : target + 1;
}

/** Open or close emphasis; return the length of its run. */
function emphasis(text: string, at: number, open: Open[]): number {
  const run = /^(?:\*+|_+|~~)/.exec(text.slice(at))?.[0] ?? "";
  const before = text[at - 1] ?? " ";
  const after = text[at + run.length] ?? " ";
  const opens = !/\s/.test(after) && (run[0] !== "_" || !/[\p{L}\p{N}]/u.test(before));
  const closes = !/\s/.test(before);
  let left = run;
  while (closes && left && open.length && left.startsWith(open.at(-1)?.mark ?? " ")) {
    left = left.slice(open.pop()?.mark.length ?? 0);
  }
  if (left && opens) {
    const sizes = left[0] === "~" ? ["~~"] : left.length >= 3 ? [left.slice(0, 2), left.slice(0, 1)] : [left];
    let position = at + run.length - left.length;
    for (const mark of sizes) {
      open.push({ mark, at: position });
      position += mark.length;
    }
  }
  return run.length;
}
