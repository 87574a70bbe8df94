// What an answer's text is annotated with, in UTF-16 positions.

export interface Range {
  from: number;
  to: number;
  className: string;
  /** Name for people who cannot see the style. */
  title?: string;
}

/** A citation's chip, shown after the position `at`. */
export interface Chip {
  at: number;
  index: number;
}

/** Return the function from code points, which the API counts, to UTF-16 units. */
export function units(text: string): (point: number) => number {
  if (!/[\ud800-\udbff]/.test(text)) return (point) => Math.min(point, text.length);
  const starts: number[] = [];
  let position = 0;
  for (const char of text) {
    starts.push(position);
    position += char.length;
  }
  return (point) => starts[point] ?? text.length;
}
