import { useEffect, useState } from "preact/hooks";
import { load, ready } from "../assets";

/** Return a chunk, null until it is loaded; "" for none. */
export function useChunk<T>(name: string): T | null {
  const [, redraw] = useState(0);
  useEffect(() => {
    if (!name || ready(name)) return;
    let gone = false;
    load(name).then(() => !gone && redraw((count) => count + 1), () => undefined);
    return () => {
      gone = true;
    };
  }, [name]);
  return name ? ready<T>(name) : null;
}
