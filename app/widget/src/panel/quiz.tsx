// The book's own questions about the page, one at a time. Nothing is stored on the server.
import { Fragment, type VNode } from "preact";
import { useState } from "preact/hooks";
import { t } from "../texts";
import { apply, newTurn, type Passage, type Question, type Turn } from "../turn";
import { PassageView } from "./answer";
import type { Store } from "./store";

const LATER = 3; // places further on in the line: where a missed question comes again

interface Card {
  passage: Passage;
  missed: boolean;
}

export function Quiz({ store }: { store: Store }): VNode {
  const [cards, setCards] = useState<Card[] | null>(null);
  const [knew, setKnew] = useState(0);
  const [count, setCount] = useState(0);
  const [solution, setSolution] = useState<Turn | null>(null);
  const [notice, setNotice] = useState("");
  const card = cards?.[0];

  const ask = async (question: string, solutions: string): Promise<Turn | null> => {
    const body: Question = { question, solutions, page_url: location.origin + location.pathname, history: [], stream: true, ...(store.config.book ? { book: store.config.book } : {}) };
    const turn = newTurn(body);
    setNotice(t("searching"));
    try {
      await store.api.chat(body, "", new AbortController().signal, { event: (event) => apply(turn, event), notice: setNotice });
      setNotice(turn.error);
      return turn;
    } catch (error) {
      setNotice((error as Error).message);
      return null;
    }
  };
  const start = async () => {
    setCards(null);
    setSolution(null);
    // The words that the server takes for this request, whatever the page's language.
    const turn = await ask("quiz me on this page", "hide");
    if (!turn) return;
    const found = turn.passages.map((passage) => ({ passage, missed: false }));
    setCards(found);
    setCount(found.length);
    setKnew(0);
  };
  const reveal = async () => card && setSolution(await ask(card.passage.text.slice(0, 3_900), "show"));
  const judge = (known: boolean) => {
    if (!card || !cards) return;
    const rest = cards.slice(1);
    if (known && !card.missed) setKnew(knew + 1);
    if (!known) rest.splice(LATER, 0, { ...card, missed: true });
    setSolution(null);
    setCards(rest);
  };
  return (
    <div id="tbr-view-quiz" class="tbr-view" role="tabpanel" aria-labelledby="tbr-tab-quiz">
      {!cards && <Fragment><p class="tbr-hint">{t("quizIntro")}</p><button type="button" class="tbr-chip tbr-main" onClick={() => void start()}>{t("quizStart")}</button></Fragment>}
      {cards && !card && <Fragment><p>{count ? t("quizDone", { knew, count }) : t("quizNone")}</p>{count > 0 && <button type="button" class="tbr-chip tbr-main" onClick={() => void start()}>{t("quizAgain")}</button>}</Fragment>}
      {card && (
        <Fragment>
          <p class="tbr-note">{t("quizLeft", { left: cards.length })}</p>
          <PassageView store={store} passage={card.passage} />
          {!solution && <button type="button" class="tbr-chip tbr-main" onClick={() => void reveal()}>{t("quizShow")}</button>}
          {solution && (
            <div class="tbr-solution">
              {solution.passages.length ? solution.passages.map((passage) => <PassageView key={passage.permalink} store={store} passage={passage} />) : <p>{solution.answer}</p>}
            </div>
          )}
          {solution && (
            <div class="tbr-actions">
              <button type="button" class="tbr-chip" onClick={() => judge(true)}>{t("quizKnew")}</button>
              <button type="button" class="tbr-chip" onClick={() => judge(false)}>{t("quizMissed")}</button>
            </div>
          )}
        </Fragment>
      )}
      <p class="tbr-note" role="status">{notice}</p>
    </div>
  );
}
