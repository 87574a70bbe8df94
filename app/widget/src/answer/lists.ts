// The book's text of a nested list is indented by two blanks a level, which CommonMark does not take for
// nested below "1. ".

const ITEM = /^( {2,})?(?:[-*+]|\d{1,9}[.)]) /;
const FENCE = /^ *(?:(?:[-*+]|\d{1,9}[.)]) +)*(`{3,}|~{3,})/;

/**
 * Return the text with its nested list items indented twice as far, code in them with them, and where a
 * position of the text is in it.
 */
export function indentLists(text: string): { text: string; at: (position: number) => number } {
  const added: [number, number][] = [];
  let fence = "";
  let indent = "";
  let position = 0;
  const lines = text.split("\n").map((line) => {
    const start = position;
    position += line.length + 1;
    const item = fence ? null : ITEM.exec(line);
    if (item) indent = item[1] ?? "";
    const inFence = fence;
    if (fence) fence = line.trim().startsWith(fence) && !line.replace(/[`~\s]/g, "") ? "" : fence;
    else fence = FENCE.exec(line)?.[1] ?? "";
    if (!indent || !(item || inFence || fence)) return line;
    added.push([start, indent.length]);
    return indent + line;
  });
  const at = (wanted: number) => added.reduce((sum, [start, size]) => (start <= wanted ? sum + size : sum), wanted);
  return { text: lines.join("\n"), at };
}
