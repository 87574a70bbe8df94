// What one can ask on this page, as the server suggests it.
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Suggestions, Term } from "../api";
import { t } from "../texts";
import type { Store } from "./store";

/** Return the glossary's terms of the open page; null until they are there. */
export function useTerms(store: Store): Term[] | null {
  return useOfPage((page) => store.api.terms(page), []);
}

/** Return what can be asked on the open page; null until it is there, and until it is `wanted`. */
export function useSuggestions(store: Store, wanted = true): Suggestions | null {
  return useOfPage((page) => store.suggestions(page), { questions: [], exercises: [] }, wanted);
}

function useOfPage<T>(read: (page: string) => Promise<T>, none: T, wanted = true): T | null {
  const [found, setFound] = useState<T | null>(null);
  const page = location.pathname;
  useEffect(() => {
    let gone = false;
    setFound(null);
    if (!wanted) return;
    read(page).then((value) => !gone && setFound(value), () => !gone && setFound(none));
    return () => {
      gone = true;
    };
  }, [page, wanted]);
  return found;
}

export function Starters({ store }: { store: Store }): VNode | null {
  const questions = useSuggestions(store)?.questions;
  if (!questions?.length) return null;
  return (
    <div class="tbr-follow-ups">
      <p class="tbr-list-title">{t("starters")}</p>
      {questions.map((question) => (
        <button key={question} type="button" class="tbr-follow-up" dir="auto" onClick={() => store.ask(question)}>{question}</button>
      ))}
      <button type="button" class="tbr-follow-up" dir="auto" onClick={() => store.ask(t("aboutChapter"), { request: { kind: "summary", chapter: "this" } })}>{t("aboutChapter")}</button>
    </div>
  );
}
