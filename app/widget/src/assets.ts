// Chunks of the bundle, each loaded when it is first needed.
import type { Root } from "hast";

declare const CHUNKS: Record<string, string>;

export interface Maths {
  /** Return TeX as a MathML element. Throws if the TeX is invalid. */
  mathml(tex: string, display: boolean): Element;
}

export interface Code {
  /** Return the tokens of code, or null if the language is unknown. */
  tokens(code: string, language: string): Root | null;
}

let base = "";
const loaded = new Map<string, unknown>();
const loading = new Map<string, Promise<unknown>>();

/** Set the address of the server that the chunks come from. */
export function loadFrom(api: string): void {
  base = `${api}/widget/`;
}

/** Return a chunk that is loaded already, else null. */
export function ready<T>(name: string): T | null {
  return (loaded.get(name) as T | undefined) ?? null;
}

export function hasChunk(name: string): boolean {
  return name in CHUNKS;
}

export function load<T>(name: string): Promise<T> {
  let pending = loading.get(name);
  if (!pending) {
    pending = import(`${base}${CHUNKS[name]}`).then((chunk: unknown) => {
      loaded.set(name, chunk);
      return chunk;
    });
    // A failed load is tried again when the chunk is next needed.
    pending.catch(() => loading.delete(name));
    loading.set(name, pending);
  }
  return pending as Promise<T>;
}
