import { useEffect, useState } from "preact/hooks";
import type { Suggestions, Term } from "../api";
import { load, ready } from "../assets";
import type { Store } from "./store";

/** Return a chunk, null until it is loaded; "" for none. */
export function useChunk<T>(name: string): T | null {
  const [, redraw] = useState(0);
  const chunk = name ? ready<T>(name) : null;
  useEffect(() => {
    // It may have come since the element was drawn.
    if (!name || chunk) return;
    let gone = false;
    load(name).then(() => !gone && redraw((count) => count + 1), () => undefined);
    return () => {
      gone = true;
    };
  }, [name]);
  return chunk;
}

/** Return whether a text has just been copied, and what copies one to the clipboard. */
export function useCopy(): [boolean, (text: string) => void] {
  const [copied, setCopied] = useState(false);
  const copy = (text: string) => {
    void navigator.clipboard?.writeText(text).then(() => {
      setCopied(true);
      setTimeout(() => setCopied(false), 1500);
    });
  };
  return [copied, copy];
}

/** Return the glossary's terms of the open page; null until they are there. */
export function useTerms(store: Store): Term[] | null {
  return useOfPage((page) => store.api.terms(page), []);
}

/** Return what can be asked on the open page; null until it is there, and until it is `wanted`. */
export function useSuggestions(store: Store, wanted = true): Suggestions | null {
  return useOfPage((page) => store.suggestions(page), { questions: [], exercises: [] }, wanted);
}

function useOfPage<T>(read: (page: string) => Promise<T>, none: T, wanted = true): T | null {
  const [found, setFound] = useState<T | null>(null);
  const page = location.pathname;
  useEffect(() => {
    let gone = false;
    setFound(null);
    if (!wanted) return;
    read(page).then((value) => !gone && setFound(value), () => !gone && setFound(none));
    return () => {
      gone = true;
    };
  }, [page, wanted]);
  return found;
}
