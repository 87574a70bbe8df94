// The panel's own words, in the page's language where there is a file for it.
import { hasChunk, load } from "../assets";
import english from "./en.json";

export type TextKey = keyof typeof english;

let texts: Record<TextKey, string> = english;
let language = "en";

/** Return a text in the language that is set. */
export const t = (key: TextKey, values: Record<string, string | number> = {}): string =>
  texts[key].replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));

export function currentLanguage(): string {
  return language;
}

export function direction(): "ltr" | "rtl" {
  return ["ar", "ur"].includes(language) ? "rtl" : "ltr";
}

/** Load the texts of `wanted` ("de-AT" means "de"); English where there are none. */
export async function setLanguage(wanted: string): Promise<void> {
  const short = wanted.toLowerCase().split("-")[0] ?? "";
  if (!hasChunk(`text-${short}`)) return;
  const file = await load<{ default: Partial<Record<TextKey, string>> }>(`text-${short}`);
  texts = { ...english, ...file.default };
  language = short;
}
