// The button at a listing, table, figure, formula or exercise that is pointed at.
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Exercise } from "../api";
import { findQuote } from "../landing/find";
import { blocksOf } from "../landing/show";
import { mainContent, rangeOf, readPage } from "../landing/text";
import { t } from "../texts";
import { paragraphIdOf } from "./floating";
import { useSuggestions } from "./hooks";
import { Icon } from "./icons";
import type { Store } from "./store";

const FORMULA = ".katex, math, mjx-container, .MathJax";
const ASKABLE = "pre, table, figure, img, .katex-display, math[display=block], mjx-container[display=true], .MathJax_Display, div.arithmatex, div.math";
const LEAVE_MS = 400; // from the block to its button
const MAX_ICON = 64; // pixels; a smaller picture says nothing

interface Pointed {
  element: Element;
  exercise: Exercise | null;
}

export function BlockButton({ store }: { store: Store }): VNode | null {
  const [pointed, setPointed] = useState<Pointed | null>(null);
  // A page's readers who never open the panel cost the server nothing.
  const exercises = useSuggestions(store, store.open || store.turns.length > 0)?.exercises;
  useEffect(() => {
    let timer = 0;
    const placed = places(exercises ?? []);
    const over = (event: Event) => {
      const target = event.target as Element;
      if (target.localName === "textbook-rag") return clearTimeout(timer);
      const found = pointedAt(target, placed);
      clearTimeout(timer);
      if (found) setPointed(found);
      else timer = window.setTimeout(() => setPointed(null), LEAVE_MS);
    };
    // The button goes with its block.
    const move = () => setPointed((now) => now && { ...now });
    document.addEventListener("pointerover", over, { passive: true });
    addEventListener("scroll", move, { passive: true, capture: true });
    return () => {
      clearTimeout(timer);
      document.removeEventListener("pointerover", over);
      removeEventListener("scroll", move, { capture: true });
    };
  }, [exercises]);
  if (!pointed?.element.isConnected) return null;
  const { element, exercise } = pointed;
  const box = element.getBoundingClientRect();
  const ask = () => {
    setPointed(null);
    store.view = "ask";
    store.onToggle(true);
    if (exercise) return store.ask(exercise.text, { solutions: "hint" });
    const id = paragraphIdOf(element);
    store.set({ selection: { text: textOf(element), ...(id ? { paragraph_id: id } : {}) } });
  };
  // Across the lower edge, where the page has a gap; above the launch button.
  const style = { right: `${Math.max(innerWidth - box.right, 8)}px`, top: `${Math.min(box.bottom - 12, innerHeight - 110)}px` };
  return (
    <button type="button" class="tbr-ask-about tbr-at-block" style={style} onClick={ask}>
      <Icon name="quote" />{t(exercise ? "hintAgain" : "askSelection")}
    </button>
  );
}

/** The block of each exercise that stands on the page. */
function places(exercises: readonly Exercise[]): [Element, Exercise][] {
  if (!exercises.length) return [];
  const page = readPage();
  return exercises.flatMap((exercise) => {
    const found = findQuote(page, { quote: exercise.text, prefix: "", suffix: "" });
    const range = found?.how === "exact" ? rangeOf(page, found.from, found.to) : null;
    return range ? blocksOf(range, page.root).map((block): [Element, Exercise] => [block, exercise]) : [];
  });
}

function pointedAt(target: Element, placed: readonly [Element, Exercise][]): Pointed | null {
  const exercise = placed.find(([block]) => block.contains(target));
  if (exercise) return { element: exercise[0], exercise: exercise[1] };
  const element = target.closest(ASKABLE);
  if (!element || !mainContent().contains(element) || !textOf(element)) return null;
  return element.localName === "img" && element.clientWidth < MAX_ICON ? null : { element, exercise: null };
}

/** What the book's source has for the block: TeX of formulas, the words that stand for a picture. */
function textOf(element: Element): string {
  if (element instanceof HTMLImageElement) return element.alt || element.title;
  const copy = element.cloneNode(true) as Element;
  for (const formula of [...copy.querySelectorAll(FORMULA)]) {
    const tex = formula.querySelector("annotation[encoding='application/x-tex']")?.textContent;
    if (tex) formula.replaceWith(element.matches("table, figure, pre") ? `$${tex}$` : `$$${tex}$$`);
  }
  const rows = [...copy.querySelectorAll("tr")].map((row) => [...row.children].map((cell) => cell.textContent?.trim()).join(" | "));
  const text = element.matches("table") ? rows.join("\n") : copy.textContent?.trim();
  return text || element.querySelector("img")?.alt || "";
}
