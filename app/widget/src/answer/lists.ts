// The book's text of a nested list is indented by two blanks a level, which CommonMark does not take for
// nested below "1. ".

/** Return the text with its list items indented twice as far, and where a position of the text is in it. */
export function indentLists(text: string): { text: string; at: (position: number) => number } {
  const added: [number, number][] = [];
  let fenced = false;
  let position = 0;
  const lines = text.split("\n").map((line) => {
    const start = position;
    position += line.length + 1;
    if (/^\s*(?:`{3}|~{3})/.test(line)) fenced = !fenced;
    const indent = /^( {2,})(?=(?:[-*+]|\d{1,9}[.)]) )/.exec(line)?.[1];
    if (!indent || fenced) return line;
    added.push([start, indent.length]);
    return indent + line;
  });
  const at = (wanted: number) => added.reduce((sum, [start, size]) => (start <= wanted ? sum + size : sum), wanted);
  return { text: lines.join("\n"), at };
}
