// What one can ask on this page, as the server suggests it.
import type { VNode } from "preact";
import { t } from "../texts";
import { Questions } from "./answer";
import { useSuggestions } from "./hooks";
import type { Store } from "./store";

export function Starters({ store }: { store: Store }): VNode | null {
  const questions = useSuggestions(store)?.questions;
  if (!questions?.length) return null;
  const summary = () => store.ask(t("aboutChapter"), { request: { kind: "summary", chapter: "this" } });
  return (
    <Questions store={store} title="starters" questions={questions}>
      <button type="button" class="tbr-follow-up" dir="auto" onClick={summary}>{t("aboutChapter")}</button>
    </Questions>
  );
}
