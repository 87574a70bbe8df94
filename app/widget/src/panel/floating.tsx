// What floats over the page: the button at selected text, the card of a glossary term.
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { mainContent } from "../landing/text";
import { t } from "../texts";
import { Link } from "./answer";
import { Icon } from "./icons";
import type { Selection, Store } from "./store";

const SETTLE_MS = 200;
const MIN_CHARS = 3;

interface Place {
  left: number;
  top: number;
}

/** Return what the reader has selected in the book's text, and where. */
export function selected(): (Selection & Place) | null {
  const selection = getSelection();
  if (!selection || selection.isCollapsed || selection.rangeCount === 0) return null;
  const range = selection.getRangeAt(0);
  const text = selection.toString().trim();
  if (text.length < MIN_CHARS || !mainContent().contains(range.commonAncestorContainer)) return null;
  const start = range.startContainer instanceof Element ? range.startContainer : range.startContainer.parentElement;
  const id = start && paragraphIdOf(start);
  const box = [...range.getClientRects()].at(-1) ?? range.getBoundingClientRect();
  return { text, ...(id ? { paragraph_id: id } : {}), left: box.right, top: box.bottom };
}

/** The paragraph's id, where the site has it in its HTML. */
export function paragraphIdOf(element: Element): string {
  const named = element.closest("[data-paragraph-id], [id^='p-']");
  return named?.getAttribute("data-paragraph-id") ?? named?.id ?? "";
}

export function AskAbout({ store }: { store: Store }): VNode | null {
  const [found, setFound] = useState<(Selection & Place) | null>(null);
  useEffect(() => {
    let timer = 0;
    const look = () => {
      clearTimeout(timer);
      timer = window.setTimeout(() => setFound(selected()), SETTLE_MS);
    };
    document.addEventListener("selectionchange", look);
    addEventListener("scroll", look, { passive: true });
    return () => {
      document.removeEventListener("selectionchange", look);
      removeEventListener("scroll", look);
    };
  }, []);
  if (!found) return null;
  const ask = () => {
    const { text, paragraph_id } = found;
    setFound(null);
    store.view = "ask";
    store.set({ selection: { text, ...(paragraph_id ? { paragraph_id } : {}) } });
    store.onToggle(true);
  };
  const style = { left: `${Math.min(Math.max(found.left - 70, 8), innerWidth - 170)}px`, top: `${Math.min(found.top + 8, innerHeight - 48)}px` };
  return (
    // The selection would go with the mouse's press.
    <button type="button" class="tbr-ask-about" style={style} onMouseDown={(event) => event.preventDefault()} onClick={ask}>
      <Icon name="quote" />{t("askSelection")}
    </button>
  );
}

export function TermCard({ store }: { store: Store }): VNode | null {
  if (!store.term) return null;
  const { term, box } = store.term;
  const style = { left: `${Math.min(Math.max(box.left, 8), innerWidth - 330)}px`, top: `${Math.min(box.bottom + 8, innerHeight - 160)}px` };
  return (
    <div class="tbr-term-card" role="status" style={style} dir="auto">
      <strong>{term.term}</strong> {term.definition}{" "}
      <Link store={store} target={{ id: term.paragraph_id, url: term.url, quote: term.definition, prefix: term.term, suffix: "" }}>{t("defined")}</Link>
    </div>
  );
}
