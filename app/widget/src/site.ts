// The demo's own pages: formulas and the colours of code.
import type { ElementContent, RootContent } from "hast";
import { load, loadFrom, type Code, type Maths } from "./assets";

function nodes(children: readonly (RootContent | ElementContent)[]): Node[] {
  return children.map((child) => {
    if (child.type !== "element") return document.createTextNode(child.type === "text" ? child.value : "");
    const span = document.createElement("span");
    const names = child.properties.className;
    if (Array.isArray(names)) span.className = names.join(" ");
    span.append(...nodes(child.children));
    return span;
  });
}

async function formulas(): Promise<void> {
  const places = [...document.querySelectorAll<HTMLElement>("article .math")];
  if (!places.length) return;
  const { mathml } = await load<Maths>("maths");
  for (const place of places) {
    try {
      place.replaceChildren(mathml(place.textContent ?? "", place.closest(".math-block") !== null));
      place.classList.add("rendered");
    } catch {
      // The TeX itself is shown.
    }
  }
}

async function listings(): Promise<void> {
  const places = [...document.querySelectorAll<HTMLElement>('article pre code[class*="language-"]')];
  if (!places.length) return;
  const { tokens } = await load<Code>("code");
  for (const place of places) {
    const language = /language-(\S+)/.exec(place.className)?.[1] ?? "";
    // Marked lines have elements of their own.
    const root = place.childElementCount ? null : tokens(place.textContent ?? "", language);
    if (root) place.replaceChildren(...nodes(root.children));
  }
}

/** What scrolls sideways can be scrolled by keyboard. */
function scrollers(): void {
  for (const element of document.querySelectorAll<HTMLElement>("article table, article .math-block")) {
    if (element.scrollWidth > element.clientWidth) element.tabIndex = 0;
    else element.removeAttribute("tabindex");
  }
}

loadFrom(location.origin);
void formulas().then(scrollers);
void listings();
new ResizeObserver(scrollers).observe(document.body);
