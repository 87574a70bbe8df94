// The glossary's terms of the page: a list, and on request underlined on the page itself.
import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { underline } from "../glossary";
import { t } from "../texts";
import { Link } from "./answer";
import { Export } from "./export";
import { useTerms } from "./hooks";
import type { Store } from "./store";

const KNEW: Record<string, () => VNode> = {
  true: () => <span class="tbr-knew"> ✓ {t("cardKnown")}</span>,
  false: () => <span class="tbr-knew"> ↻ {t("cardMissed")}</span>,
};

export function Terms({ store }: { store: Store }): VNode {
  const terms = useTerms(store);
  const [shown, setShown] = useState(store.underlined);
  useEffect(() => {
    store.underlined = shown;
    underline(shown ? (terms ?? []) : [], (term) => {
      store.term = term;
      store.changed();
    });
  }, [shown, terms]);
  const cards = (terms ?? []).map((term) => ({ id: term.paragraph_id, question: term.term, answer: term.definition, url: term.url }));
  const learn = () => {
    store.deck = cards;
    store.show("quiz");
  };
  return (
    <div id="tbr-view-terms" class="tbr-view" role="tabpanel" aria-labelledby="tbr-tab-terms">
      {terms && terms.length === 0 && <p class="tbr-note">{t("termsNone")}</p>}
      {terms && terms.length > 0 && (
        <label class="tbr-check"><input type="checkbox" checked={shown} onChange={(event) => setShown(event.currentTarget.checked)} />{t("underline")}</label>
      )}
      {cards.length > 0 && (
        <div class="tbr-actions tbr-learn">
          <button type="button" class="tbr-chip" onClick={learn}>{t("cardsLearn")}</button>
          <Export cards={cards} />
        </div>
      )}
      <dl class="tbr-terms">
        {terms?.map((term) => (
          <div key={term.term}>
            <dt dir="auto">{term.term}{KNEW[String(store.cards.knew(term.paragraph_id))]?.()}</dt>
            <dd dir="auto">{term.definition} <Link store={store} target={{ id: term.paragraph_id, url: term.url, quote: term.definition, prefix: term.term, suffix: "" }}>{t("defined")}</Link></dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
