import temml from "temml";

// Temml 0.13.5 drops digits of a \mathrm{} that is letters and a number, such as BM25; an empty group prevents it.
const NUMBERED_NAME = /\\(?:mathrm\s*\{(?=[^{}]*\d\s*\d)|rm(?![a-zA-Z]))/g;

export function mathml(tex: string, display: boolean): Element {
  const holder = document.createElement("span");
  temml.render(tex.replace(NUMBERED_NAME, "$&{}"), holder, { displayMode: display, throwOnError: true, trust: false, maxExpand: 500, maxSize: [20, 20] });
  const math = holder.querySelector("math");
  if (!math) throw new Error("no formula");
  return math;
}
