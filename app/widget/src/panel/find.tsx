// "Where was that?": search as one types, the places by chapter.
import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Hit } from "../api";
import { t } from "../texts";
import { renderMarkdown } from "../answer/markdown";
import { Link, QUOTED, short } from "./answer";
import type { Store } from "./store";

const DELAY_MS = 250;

export function Find({ store }: { store: Store }): VNode {
  const [words, setWords] = useState("");
  const [hits, setHits] = useState<Hit[] | null>(null);
  const [error, setError] = useState("");
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus({ preventScroll: true }), []);
  useEffect(() => {
    const query = words.trim();
    if (query.length < 2) {
      setHits(null);
      return;
    }
    const controller = new AbortController();
    const timer = setTimeout(() => {
      store.api.search(query, location.origin + location.pathname, controller.signal).then(
        (found) => (setHits(found), setError("")),
        (failure: Error) => controller.signal.aborted || setError(failure.message),
      );
    }, DELAY_MS);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [words]);
  return (
    <div id="tbr-view-find" class="tbr-view" role="tabpanel" aria-labelledby="tbr-tab-find">
      <label class="tbr-visually-hidden" for="tbr-find">{t("findLabel")}</label>
      <input ref={field} id="tbr-find" class="tbr-field" type="search" dir="auto" placeholder={t("findPlaceholder")} value={words} onInput={(event) => setWords(event.currentTarget.value)} />
      <p class="tbr-note" role="status">{error || (hits && (hits.length ? t("findCount", { count: hits.length }) : t("findNone")))}</p>
      {byChapter(hits ?? []).map(([chapter, found]) => (
        <section key={chapter}>
          <h3 class="tbr-list-title">{chapter}</h3>
          <ul class="tbr-citations">
            {found.map((hit) => (
              <li key={hit.url}>
                <Link store={store} target={hitTarget(hit)} class="tbr-card">
                  <span class="tbr-section">{hit.heading_path.slice(1).join(" › ") || hit.section || chapter}</span>
                  <span class="tbr-quote" dir="auto">{renderMarkdown(short(hit.text.split("\n\n", 1)[0] ?? "", 300), QUOTED)}</span>
                </Link>
              </li>
            ))}
          </ul>
        </section>
      ))}
    </div>
  );
}

function hitTarget(hit: Hit) {
  const quote = hit.text.split("\n\n", 1)[0] ?? "";
  return { id: hit.paragraph_ids[0] ?? "", url: hit.url, quote, prefix: "", suffix: "" };
}

function byChapter(hits: readonly Hit[]): [string, Hit[]][] {
  const chapters = new Map<string, Hit[]>();
  for (const hit of hits) {
    const chapter = hit.chapter || hit.heading_path[0] || "";
    chapters.set(chapter, [...(chapters.get(chapter) ?? []), hit]);
  }
  return [...chapters];
}
