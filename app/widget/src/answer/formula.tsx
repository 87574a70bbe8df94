import type { VNode } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Maths } from "../assets";
import { useChunk } from "../panel/hooks";

/** A formula as MathML; as TeX until the library is there, and where it is not valid. */
export function Formula({ tex, display = false }: { tex: string; display?: boolean }): VNode {
  const maths = useChunk<Maths>("maths");
  const place = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    const element = place.current;
    if (!element) return;
    let formula: Node = document.createTextNode(tex);
    try {
      if (maths) formula = maths.mathml(tex, display);
    } catch {
      // The TeX itself is shown.
    }
    element.replaceChildren(formula);
  }, [maths, tex, display]);
  return <span ref={place} class={display ? "tbr-formula tbr-display" : "tbr-formula"} tabIndex={display ? 0 : undefined} role={display ? "group" : undefined} data-tex={tex} />;
}
