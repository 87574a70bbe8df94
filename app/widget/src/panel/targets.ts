// What the answers' links lead to.
import { fragmentText, type Target } from "../links";
import type { Citation, Passage, Source } from "../turn";

export function citationTarget({ paragraph_id, url, quote, prefix, suffix }: Citation): Target {
  return { id: paragraph_id, url, quote, prefix, suffix };
}

export function passageTarget({ paragraph_id, url, text, marks }: Passage): Target {
  const points = Array.from(text);
  const [from, to] = marks[0] ?? [0, text.search(/\n\n/) < 0 ? points.length : Array.from(text.slice(0, text.search(/\n\n/))).length];
  return {
    id: paragraph_id,
    url,
    quote: points.slice(from, to).join(""),
    prefix: points.slice(Math.max(0, from - 32), from).join(""),
    suffix: points.slice(to, to + 32).join(""),
  };
}

/** A section's place: its words are those of the link's text fragment. */
export function sourceTarget({ paragraph_id, url }: Pick<Source, "paragraph_id" | "url">): Target {
  return { id: paragraph_id, url, quote: fragmentText(url), prefix: "", suffix: "" };
}
