// An answer as Markdown for the clipboard.
import type { Figure, Turn } from "../turn";

/** Return question and answer; `absolute` makes an address of a permalink or of an image. */
export function answerMarkdown(turn: Turn, absolute: (link: string) => string): string {
  const parts = turn.passages.length
    ? turn.passages.flatMap((one) => [quoted(one.text), ...figures(one.figures, absolute), linked(one.heading_path.join(" › "), absolute(one.permalink))])
    : [cited(turn, absolute), ...figures(turn.figures, absolute), sources(turn, absolute)];
  return [`**${turn.body.question}**`, ...parts].filter(Boolean).join("\n\n");
}

const quoted = (text: string) => text.split("\n").map((line) => (line ? `> ${line}` : ">")).join("\n");
const linked = (label: string, url: string) => `[${label.replace(/[[\]\\]/g, "\\$&")}](${url})`;
const figures = (shown: readonly Figure[], absolute: (link: string) => string) => shown.map(({ caption, alt, url }) => `!${linked(caption || alt, absolute(url))}`);

/** The text with a link behind each claim, but none inside a listing. */
function cited(turn: Turn, absolute: (link: string) => string): string {
  const points = Array.from(turn.answer);
  for (const { index, end, permalink } of [...turn.citations].sort((a, b) => b.end - a.end || b.index - a.index)) {
    const fences = points.slice(0, end).join("").match(/^\s*(```|~~~)/gm)?.length ?? 0;
    if (fences % 2 === 0) points.splice(end, 0, ` [\\[${index}\\]](${absolute(permalink)})`);
  }
  return points.join("");
}

function sources(turn: Turn, absolute: (link: string) => string): string {
  const listed = new Map(turn.citations.map((one) => [one.index, `${one.index}. ${linked(one.heading_path.join(" › ") || one.title, absolute(one.permalink))}`]));
  return [...listed.values()].join("\n");
}
