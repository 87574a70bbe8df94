import temml from "temml";

export function mathml(tex: string, display: boolean): Element {
  const holder = document.createElement("span");
  temml.render(tex, holder, { displayMode: display, throwOnError: true, trust: false, maxExpand: 500, maxSize: [20, 20] });
  const math = holder.querySelector("math");
  if (!math) throw new Error("no formula");
  return math;
}
