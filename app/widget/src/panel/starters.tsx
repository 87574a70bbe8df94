// What one can ask on this page: its terms, its chapter.
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Term } from "../api";
import { t } from "../texts";
import type { Store } from "./store";

const TERMS = 3;

/** Return the glossary's terms of the open page; null until they are there. */
export function useTerms(store: Store): Term[] | null {
  const [terms, setTerms] = useState<Term[] | null>(null);
  const page = location.pathname;
  useEffect(() => {
    let gone = false;
    setTerms(null);
    store.api.terms(page).then((found) => !gone && setTerms(found), () => !gone && setTerms([]));
    return () => {
      gone = true;
    };
  }, [page]);
  return terms;
}

export function Starters({ store }: { store: Store }): VNode | null {
  const terms = useTerms(store);
  if (!terms?.length) return null;
  const questions = terms.slice(0, TERMS).map(({ term }) => t("whatIs", { term }));
  return (
    <div class="tbr-follow-ups">
      <p class="tbr-list-title">{t("starters")}</p>
      {[...questions, t("aboutChapter")].map((question) => (
        <button key={question} type="button" class="tbr-follow-up" onClick={() => store.ask(question)}>{question}</button>
      ))}
    </div>
  );
}
