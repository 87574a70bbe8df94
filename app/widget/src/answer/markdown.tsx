// Markdown as elements. Every character of the text that is shown keeps its position, so citations and
// marks stand exactly where the API says. Nothing is ever parsed as HTML.
import type { SyntaxNode } from "@lezer/common";
import { Fragment, h, type ComponentChildren, type VNode } from "preact";
import { CodeBlock } from "./code";
import { Formula } from "./formula";
import { mend } from "./mend";
import type { Chip, Range } from "./spans";
import { parser } from "./syntax";

export interface Annotations {
  ranges: readonly Range[];
  chips: readonly Chip[];
  chip(chip: Chip): VNode;
  /** Address and label as a link, or null where the address leads nowhere. */
  link(address: string, label: ComponentChildren): VNode | null;
  /** Inside a link: without buttons and without what takes the focus. */
  compact?: boolean;
}

const HIDDEN = new Set([
  "HeaderMark", "EmphasisMark", "StrikethroughMark", "CodeMark", "CodeInfo", "QuoteMark", "ListMark",
  "LinkMark", "URL", "LinkTitle", "LinkLabel", "TableDelimiter", "LinkReference",
]);
const ENTITIES: Record<string, string> = {
  amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0", ndash: "–", mdash: "—", hellip: "…",
  times: "×", copy: "©", laquo: "«", raquo: "»", lsquo: "‘", rsquo: "’", ldquo: "“", rdquo: "”",
};

const MAX_DEPTH = 40; // of quotes, lists and emphasis; more than some hundred would overflow the stack

/** Return the text as elements; `pending`: more of it is to come. */
export function renderMarkdown(text: string, notes: Annotations, pending = false): VNode {
  const shown = pending ? mend(text) : { text, closing: "" };
  return new Renderer(shown.text, shown.closing, notes).document();
}

class Renderer {
  private readonly due: Chip[];
  private readonly source: string;
  private depth = 0;

  /** `closing` closes what is open in `text` and is not shown. */
  constructor(private readonly text: string, closing: string, private readonly notes: Annotations) {
    this.source = text + closing;
    this.due = [...notes.chips].sort((a, b) => a.at - b.at || a.index - b.index);
  }

  document(): VNode {
    const tree = parser.parse(this.source);
    const blocks = this.blocks(tree.topNode);
    const rest = this.chipsUpTo(Infinity);
    return <Fragment>{blocks}{rest.length > 0 && <p>{rest}</p>}</Fragment>;
  }

  private blocks(node: SyntaxNode): ComponentChildren[] {
    return this.nested(node.from, node.to, () => children(node).filter((child) => !HIDDEN.has(child.name)).map((child) => this.block(child)));
  }

  /** What is nested too deep is shown as it is written. */
  private nested(from: number, to: number, content: () => ComponentChildren[]): ComponentChildren[] {
    if (this.depth === MAX_DEPTH) return this.leaf(from, to);
    this.depth += 1;
    const made = content();
    this.depth -= 1;
    return made;
  }

  private block(node: SyntaxNode): ComponentChildren {
    switch (node.name) {
      case "Paragraph":
        return <p>{this.inlineBlock(node)}</p>;
      case "Blockquote":
        return <blockquote>{this.blocks(node)}</blockquote>;
      case "BulletList":
        return <ul>{this.blocks(node)}</ul>;
      case "OrderedList":
        return <ol start={parseInt(this.source.slice(node.from, node.from + 9), 10) || 1}>{this.blocks(node)}</ol>;
      case "ListItem":
        return <li>{this.blocks(node)}</li>;
      case "Task":
        return <p>{this.inlineBlock(node)}</p>;
      case "HorizontalRule":
        return <hr />;
      case "FencedCode":
      case "CodeBlock":
        return this.code(node);
      case "MathBlock":
        return this.formulaBlock(node);
      case "Table":
        return this.table(node);
      default: {
        const level = /^(?:ATX|Setext)Heading(\d)$/.exec(node.name)?.[1];
        // The panel's own title is a heading of the second level.
        return level ? h(`h${Math.min(Number(level) + 2, 6)}`, {}, this.inlineBlock(node)) : <p>{this.inlineBlock(node)}</p>;
      }
    }
  }

  private code(node: SyntaxNode): ComponentChildren {
    const info = node.getChild("CodeInfo");
    const language = info ? this.source.slice(info.from, info.to).split(/\s/)[0] ?? "" : "";
    const code = children(node).filter((child) => child.name === "CodeText").map((child) => this.source.slice(child.from, child.to));
    if (this.notes.compact) return <code>{code.join("")}</code>;
    const chips = this.chipsUpTo(this.nextText(node.to));
    return <Fragment><CodeBlock code={code.join("")} language={language} />{chips.length > 0 && <p class="tbr-chips">{chips}</p>}</Fragment>;
  }

  private formulaBlock(node: SyntaxNode): ComponentChildren {
    const tex = this.source.slice(node.from, node.to).replace(/^\s*\$\$/, "").replace(/\$\$\s*$/, "").replace(/^[ \t]*>[ \t]?/gm, "");
    const chips = this.chipsUpTo(this.nextText(node.to));
    return <Fragment><Formula tex={tex.trim()} display={!this.notes.compact} />{chips.length > 0 && <p class="tbr-chips">{chips}</p>}</Fragment>;
  }

  private table(node: SyntaxNode): VNode {
    const [head, delimiter, ...rows] = children(node);
    const alignments = delimiter ? this.source.slice(delimiter.from, delimiter.to).replace(/^\s*\||\|\s*$/g, "").split("|").map(alignment) : [];
    const row = (line: SyntaxNode, tag: "th" | "td") => (
      <tr>{this.cells(line, alignments.length).map((cell, column) => h(tag, { class: alignments[column] || undefined, scope: tag === "th" ? "col" : undefined }, cell && this.inlineBlock(cell)))}</tr>
    );
    return (
      <div class="tbr-scroll" tabIndex={this.notes.compact ? undefined : 0} role="group">
        <table>{head && <thead>{row(head, "th")}</thead>}<tbody>{rows.filter((line) => line.name === "TableRow").map((line) => row(line, "td"))}</tbody></table>
      </div>
    );
  }

  /** The cells of a row by column: an empty one has no node. */
  private cells(line: SyntaxNode, columns: number): (SyntaxNode | null)[] {
    const cells = new Array<SyntaxNode | null>(columns).fill(null);
    const leading = this.source[line.from] === "|";
    let column = leading ? -1 : 0;
    for (const child of children(line)) {
      if (child.name === "TableDelimiter") column += 1;
      else if (child.name === "TableCell" && column >= 0 && column < columns) cells[column] = child;
    }
    return cells;
  }

  // --- inside a block -----------------------------------------------------------------------

  private inlineBlock(node: SyntaxNode): ComponentChildren[] {
    const content = this.inline(node, node.from, node.to);
    return [...content, ...this.chipsUpTo(this.nextText(node.to))];
  }

  /** Position of the next character that is not blank. */
  private nextText(position: number): number {
    const rest = /\S/.exec(this.source.slice(position));
    return rest ? position + rest.index : Infinity;
  }

  private inline(node: SyntaxNode, from: number, to: number): ComponentChildren[] {
    return this.nested(from, to, () => this.inlineContent(node, from, to));
  }

  private inlineContent(node: SyntaxNode, from: number, to: number): ComponentChildren[] {
    const content: ComponentChildren[] = [];
    let position = from;
    for (const child of children(node)) {
      if (child.from < position) continue;
      content.push(...this.leaf(position, Math.min(child.from, to)));
      if (!HIDDEN.has(child.name)) content.push(this.element(child));
      position = child.to;
      // A claim may end with its closing mark.
      content.push(...this.chipsUpTo(position));
    }
    content.push(...this.leaf(position, to));
    return content;
  }

  private element(node: SyntaxNode): ComponentChildren {
    switch (node.name) {
      case "Emphasis":
        return <em>{this.inline(node, node.from, node.to)}</em>;
      case "StrongEmphasis":
        return <strong>{this.inline(node, node.from, node.to)}</strong>;
      case "Strikethrough":
        return <del>{this.inline(node, node.from, node.to)}</del>;
      case "InlineCode":
        return <code>{this.inlineCode(node)}</code>;
      case "InlineMath": {
        const tex = this.source.slice(node.from, node.to);
        const size = tex.startsWith("$") && !tex.startsWith("$$") ? 1 : 2;
        return this.marked(node.from, node.to, <Formula tex={tex.slice(size, -size)} display={tex.startsWith("$$") || tex.startsWith("\\[")} />);
      }
      case "HardBreak":
        return <br />;
      case "Escape":
        return this.leaf(node.from + 1, node.to);
      case "Entity":
        return this.marked(node.from, node.to, entity(this.source.slice(node.from, node.to)));
      case "Link":
        return this.link(node);
      case "Autolink": {
        const address = this.source.slice(node.from + 1, node.to - 1);
        return this.notes.link(address, address) ?? this.leaf(node.from + 1, node.to - 1);
      }
      case "Image": {
        const marks = node.getChildren("LinkMark");
        return this.leaf((marks[0]?.to ?? node.from) , marks[1]?.from ?? node.to);
      }
      case "TaskMarker":
        return this.source[node.from + 1] === " " ? "☐" : "☑";
      default:
        return this.leaf(node.from, node.to);
    }
  }

  private inlineCode(node: SyntaxNode): ComponentChildren[] {
    const [open, close] = node.getChildren("CodeMark");
    let from = open?.to ?? node.from;
    let to = close?.from ?? node.to;
    const code = this.source.slice(from, to);
    if (/^ .* $/s.test(code) && code.trim()) {
      from += 1;
      to -= 1;
    }
    return this.leaf(from, to);
  }

  private link(node: SyntaxNode): ComponentChildren {
    const url = node.getChild("URL");
    const [open, close] = node.getChildren("LinkMark");
    // `[1]` without an address is text.
    if (!url || !open || !close) return this.literal(node);
    const label = this.inline(node, open.to, close.from);
    return this.notes.link(this.source.slice(url.from, url.to).replace(/^<|>$/g, ""), label) ?? label;
  }

  private literal(node: SyntaxNode): ComponentChildren[] {
    const content: ComponentChildren[] = [];
    let position = node.from;
    for (const child of children(node)) {
      content.push(...this.leaf(position, child.from));
      content.push(HIDDEN.has(child.name) ? this.leaf(child.from, child.to) : this.element(child));
      position = child.to;
    }
    return [...content, ...this.leaf(position, node.to)];
  }

  /** The source [from, to) as text, with the ranges it lies in and the chips that are due in it. */
  private leaf(from: number, until: number): ComponentChildren[] {
    const to = Math.min(until, this.text.length);
    const content: ComponentChildren[] = [];
    let position = from;
    while (position < to) {
      const chip = this.due[0];
      const end = chip && chip.at > position && chip.at < to ? chip.at : to;
      content.push(...this.pieces(position, end));
      position = end;
      // At the leaf's end its block decides: the claim's closing mark may follow.
      if (position < to) content.push(...this.chipsUpTo(position));
    }
    return content;
  }

  private pieces(from: number, to: number): ComponentChildren[] {
    const content: ComponentChildren[] = [];
    let position = from;
    while (position < to) {
      const range = this.notes.ranges.find((each) => each.from <= position && each.to > position);
      const next = this.notes.ranges.filter((each) => each.from > position).map((each) => each.from);
      const end = Math.min(to, range ? range.to : Math.min(...next, to));
      const text = this.source.slice(position, end);
      content.push(range ? <mark class={range.className} title={range.title}>{text}</mark> : text);
      position = end;
    }
    return content;
  }

  private marked(from: number, to: number, content: ComponentChildren): ComponentChildren {
    const range = this.notes.ranges.find((each) => each.from < to && each.to > from);
    return range ? <mark class={range.className} title={range.title}>{content}</mark> : content;
  }

  private chipsUpTo(position: number): VNode[] {
    const chips: VNode[] = [];
    while (this.due[0] && this.due[0].at <= position) {
      const chip = this.due.shift();
      if (chip) chips.push(this.notes.chip(chip));
    }
    return chips;
  }
}

function children(node: SyntaxNode): SyntaxNode[] {
  const found: SyntaxNode[] = [];
  for (let child = node.firstChild; child; child = child.nextSibling) found.push(child);
  return found;
}

function alignment(cell: string): string {
  const text = cell.trim();
  if (/^:-+:$/.test(text)) return "center";
  return /-:$/.test(text) ? "right" : "";
}

function entity(text: string): string {
  const name = text.slice(1, -1);
  const code = /^#x/i.test(name) ? parseInt(name.slice(2), 16) : name.startsWith("#") ? parseInt(name.slice(1), 10) : NaN;
  if (Number.isNaN(code)) return ENTITIES[name] ?? text;
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : "\ufffd";
}
