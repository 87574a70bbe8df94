// The book's own questions about the page, one at a time. Nothing is stored on the server.
import { Fragment, type VNode } from "preact";
import { useState } from "preact/hooks";
import { t } from "../texts";
import { renderMarkdown } from "../answer/markdown";
import { apply, newTurn, type Citation, type Passage, type Question, type Turn } from "../turn";
import { Link, PassageView, QUOTED } from "./answer";
import type { Store } from "./store";
import { citationTarget } from "./targets";

const LATER = 3; // places further on in the line: where a missed question comes again

interface Card {
  /** An exercise of the book. */
  passage?: Passage;
  /** A term to explain, and the glossary's entry. */
  term?: { question: string; entry: Citation };
  missed: boolean;
  /** The answer that it comes from. */
  answer: string;
}

/** An exercise each; on a page without one a term each, whose glossary entries are cited. */
function cardsOf(turn: Turn): Card[] {
  const answer = turn.answer_id;
  if (turn.passages.length) return turn.passages.map((passage) => ({ passage, missed: false, answer }));
  const points = Array.from(turn.answer);
  return turn.citations.map((entry) => {
    const question = points.slice(entry.start, entry.end).join("").replace(/^[-*\s]+/, "");
    return { term: { question, entry }, missed: false, answer };
  });
}

export function Quiz({ store }: { store: Store }): VNode {
  const [cards, setCards] = useState<Card[] | null>(null);
  const [knew, setKnew] = useState(0);
  const [count, setCount] = useState(0);
  const [solution, setSolution] = useState<Turn | null>(null);
  const [notice, setNotice] = useState("");
  const card = cards?.[0];

  const ask = async (asked: Pick<Question, "question" | "request" | "solutions">): Promise<Turn | null> => {
    const body: Question = { ...asked, page_url: location.origin + location.pathname, history: [], stream: true, ...(store.config.book ? { book: store.config.book } : {}) };
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
    setCards(null);
    setSolution(null);
    const turn = await ask({ question: t("quizStart"), request: { kind: "quiz" }, solutions: "hide" });
    if (!turn) return;
    const found = cardsOf(turn);
    setCards(found);
    setCount(found.length);
    setKnew(0);
  };
  const reveal = async () => {
    if (card?.term) setSolution({ ...newTurn({ question: "", page_url: "", history: [], stream: true }), answer: card.term.entry.quote });
    else if (card?.passage) setSolution(await ask({ question: card.passage.text.slice(0, 3_900), solutions: "show" }));
  };
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
          {card.passage && <PassageView store={store} passage={card.passage} answer={card.answer} />}
          {card.term && <p class="tbr-passage">{card.term.question}</p>}
          {!solution && <button type="button" class="tbr-chip tbr-main" onClick={() => void reveal()}>{t("quizShow")}</button>}
          {solution && (
            <div class="tbr-solution">
              {solution.passages.length ? solution.passages.map((passage) => <PassageView key={passage.permalink} store={store} passage={passage} answer={solution.answer_id} />) : <div class="tbr-passage">{renderMarkdown(solution.answer, QUOTED)} {card.term && <Link store={store} target={citationTarget(card.term.entry)} answer={card.answer}>{t("defined")}</Link>}</div>}
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
