// The book's own questions about the page, and the cards that are due, one at a time. The server stores nothing.
import { Fragment, type VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Card } from "../cards";
import { ofBook } from "../config";
import { t } from "../texts";
import { renderMarkdown } from "../answer/markdown";
import { apply, newTurn, type Passage, type Question, type Turn } from "../turn";
import { Link, PassageView, QUOTED } from "./answer";
import { Export } from "./export";
import type { Store } from "./store";
import { passageTarget } from "./targets";

const WHOLE = { ...QUOTED, compact: false };
const LATER = 3; // places further on in the line: where a missed question comes again

interface Asked {
  card: Card;
  /** An exercise of the book as it is shown. */
  passage?: Passage;
  /** The solution as it is shown. */
  solution?: Turn;
  missed?: boolean;
  /** The answer that it comes from. */
  from?: string;
}

/** An exercise each; on a page without one, a question each that it answers. */
function cardsOf(turn: Turn): Asked[] {
  return turn.passages.map((passage) => ({ card: { id: passageTarget(passage).id, question: passage.text, answer: "", url: passage.url }, passage, from: turn.answer_id }));
}

export function Quiz({ store }: { store: Store }): VNode {
  const [line, setLine] = useState<Asked[] | null>(null);
  const [knew, setKnew] = useState(0);
  const [count, setCount] = useState(0);
  const [revealed, setRevealed] = useState(false);
  const [notice, setNotice] = useState("");
  const current = line?.[0];

  const begin = (cards: Asked[]) => {
    setLine(cards);
    setCount(cards.length);
    setKnew(0);
    setRevealed(false);
  };
  useEffect(() => {
    if (store.deck.length) begin(store.deck.map((card) => ({ card })));
    store.deck = [];
  }, []);
  const ask = async (wanted: Pick<Question, "question" | "request" | "solutions">): Promise<Turn | null> => {
    const body: Question = { ...wanted, page_url: location.origin + location.pathname, history: [], stream: true, ...ofBook(store.config) };
    const turn = newTurn(body);
    setNotice(t("searching"));
    try {
      await store.api.chat(body, new AbortController().signal, { event: (event) => apply(turn, event), notice: setNotice });
      setNotice(turn.error);
      return turn;
    } catch (error) {
      setNotice((error as Error).message);
      return null;
    }
  };
  const start = async () => {
    setLine(null);
    const turn = await ask({ question: t("quizStart"), request: { kind: "quiz" }, solutions: "hide" });
    if (turn) begin(cardsOf(turn));
  };
  const reveal = async () => {
    if (!current || !line) return;
    if (!current.card.answer) {
      const solution = await ask({ question: current.card.question.slice(0, 3_900), solutions: "show" });
      if (!solution) return;
      const answer = solution.passages.map(({ text }) => text).join("\n\n") || solution.answer;
      setLine([{ ...current, solution, card: { ...current.card, answer } }, ...line.slice(1)]);
    }
    setRevealed(true);
  };
  const judge = (known: boolean) => {
    if (!current || !line) return;
    const rest = line.slice(1);
    // Known after it was missed, it was not known today.
    if (!current.missed) store.cards.judge(current.card, known);
    if (known && !current.missed) setKnew(knew + 1);
    if (!known) rest.splice(LATER, 0, { ...current, missed: true });
    setRevealed(false);
    setLine(rest);
  };
  return (
    <div id="tbr-view-quiz" class="tbr-view" role="tabpanel" aria-labelledby="tbr-tab-quiz">
      {!line && <p class="tbr-hint">{t("quizIntro")}</p>}
      {line && !current && <p>{count ? t("quizDone", { knew, count }) : t("quizNone")}</p>}
      {!current && <Begin store={store} again={count > 0} start={() => void start()} repeat={begin} />}
      {current && (
        <Fragment>
          <p class="tbr-note">{t("quizLeft", { left: line.length })}</p>
          {current.passage ? <PassageView store={store} passage={current.passage} answer={current.from ?? ""} /> : <div class="tbr-passage" dir="auto">{renderMarkdown(current.card.question, WHOLE)}</div>}
          {!revealed && <button type="button" class="tbr-chip tbr-main" onClick={() => void reveal()}>{t("quizShow")}</button>}
          {revealed && <Solution store={store} asked={current} />}
          {revealed && (
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

/** What can be begun, and what is kept. */
function Begin({ store, again, start, repeat }: { store: Store; again: boolean; start: () => void; repeat: (cards: Asked[]) => void }): VNode {
  const due = store.cards.due();
  const kept = store.cards.all();
  const forget = () => {
    store.cards.clear();
    store.changed();
  };
  return (
    <Fragment>
      <button type="button" class="tbr-chip tbr-main" onClick={start}>{t(again ? "quizAgain" : "quizStart")}</button>
      {due.length > 0 && <p><button type="button" class="tbr-chip" onClick={() => repeat(due.map((card) => ({ card })))}>{t("cardsDue", { count: due.length })}</button></p>}
      {kept.length > 0 && (
        <Fragment>
          <p class="tbr-note">{t("cardsKept", { count: kept.length })}</p>
          <div class="tbr-actions">
            <Export cards={kept} />
            <button type="button" class="tbr-chip" onClick={forget}>{t("cardsClear")}</button>
          </div>
        </Fragment>
      )}
    </Fragment>
  );
}

function Solution({ store, asked: { card, solution } }: { store: Store; asked: Asked }): VNode {
  const target = { id: card.id, url: card.url, quote: card.answer, prefix: "", suffix: "" };
  return (
    <div class="tbr-solution">
      {solution?.passages.length ? solution.passages.map((passage) => <PassageView key={passage.permalink} store={store} passage={passage} answer={solution.answer_id} />) : <div class="tbr-passage" dir="auto">{renderMarkdown(card.answer, WHOLE)} <Link store={store} target={target}>{t("defined")}</Link></div>}
    </div>
  );
}
