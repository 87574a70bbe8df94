// The Markdown of answers and passages: CommonMark with tables, strikethrough, task lists and TeX.
import { parser as commonmark, GFM, Autolink, type BlockContext, type InlineContext, type Line, type MarkdownConfig } from "@lezer/markdown";

const DOLLAR = 36;
const BACKSLASH = 92;
const CLOSING: Record<string, string> = { "(": "\\)", "[": "\\]" };

const blank = (char: string) => char === "" || /\s/.test(char);

/** Position after the formula that begins at `start`, or -1. `$5 and $6` is not a formula. */
function formulaEnd(cx: InlineContext, start: number): number {
  const text = cx.slice(start, cx.end);
  if (text[0] === "\\") {
    const closing = CLOSING[text[1] ?? ""];
    const end = closing ? text.indexOf(closing, 2) : -1;
    return end < 0 ? -1 : start + end + 2;
  }
  const display = text.startsWith("$$");
  const size = display ? 2 : 1;
  if (!display && blank(text[1] ?? "")) return -1;
  for (let at = size; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (display ? text.startsWith("$$", at) : text[at] === "$") {
      if (display) return start + at + 2;
      if (at === 1) return -1;
      if (!blank(text[at - 1] ?? "") && !/\d/.test(text[at + 1] ?? "")) return start + at + 1;
    }
  }
  return -1;
}

function isFence(line: Line): boolean {
  return /^\$\$\s*$/.test(line.text.slice(line.pos)) || /^\$\$(?:(?!\$\$).)+\$\$\s*$/.test(line.text.slice(line.pos));
}

function parseBlock(cx: BlockContext, line: Line): boolean {
  if (!isFence(line)) return false;
  const start = cx.lineStart + line.pos;
  const oneLine = /\$\$.+\$\$\s*$/.test(line.text.slice(line.pos));
  const depth = cx.depth;
  let end = cx.lineStart + line.text.length;
  let go = !oneLine;
  while (go && cx.nextLine() && cx.depth >= depth) {
    end = cx.lineStart + line.text.length;
    go = !/\$\$\s*$/.test(line.text);
  }
  if (!go) cx.nextLine();
  cx.addElement(cx.elt("MathBlock", start, end));
  return true;
}

const maths: MarkdownConfig = {
  defineNodes: [{ name: "InlineMath" }, { name: "MathBlock", block: true }],
  parseInline: [
    {
      name: "InlineMath",
      before: "Escape",
      parse(cx, next, position) {
        if (next !== DOLLAR && next !== BACKSLASH) return -1;
        const end = formulaEnd(cx, position);
        return end < 0 ? -1 : cx.addElement(cx.elt("InlineMath", position, end));
      },
    },
  ],
  parseBlock: [
    {
      name: "MathBlock",
      before: "FencedCode",
      parse: parseBlock,
      endLeaf: (_, line) => isFence(line),
    },
  ],
  // HTML is never more than text here.
  remove: ["HTMLBlock"],
};

// Addresses in the text are no links: what is linked was written as a link.
const extensions = (GFM as MarkdownConfig[]).filter((extension) => extension !== Autolink);

export const parser = commonmark.configure([...extensions, maths]);
