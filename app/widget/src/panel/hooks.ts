import { useEffect, useState } from "preact/hooks";
import { load, ready } from "../assets";

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
