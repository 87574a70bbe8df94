// One question and its answer.
import { Fragment, type ComponentChildren, type VNode } from "preact";
import { useState } from "preact/hooks";
import { renderMarkdown, type Annotations } from "../answer/markdown";
import { indentLists } from "../answer/lists";
import { units, type Chip, type Range } from "../answer/spans";
import { isElsewhere, type Target } from "../links";
import { t, type TextKey } from "../texts";
import { failedSteps, isCut, type Citation, type Passage, type Turn } from "../turn";
import { answerMarkdown } from "./copied";
import { Figures } from "./figures";
import { useCopy } from "./hooks";
import { Icon } from "./icons";
import type { Store } from "./store";
import { citationTarget, passageTarget, sourceTarget } from "./targets";

const CAPTIONS: Record<string, TextKey> = { extractive: "extractive", generated: "generated", refused: "refused" };
const NEAREST: Record<string, TextKey> = { refused: "nearest", clarification: "chapters" };

interface LinkProps {
  store: Store;
  target: Target;
  /** The answer that the link is part of; "" if the server takes no feedback. */
  answer?: string;
  class?: string;
  label?: string;
  children: ComponentChildren;
}

/** A link to a paragraph; text where it has no web address. To another site it opens a tab, so that the panel stays. */
export function Link({ store, target, answer = "", label, children, ...rest }: LinkProps): VNode {
  const href = store.href(target);
  if (!href) return <span class={rest.class} dir="auto">{children}</span>;
  const follow = (event: MouseEvent) => store.follow(event, target, answer);
  const elsewhere = isElsewhere(href);
  const named = label && elsewhere ? `${label} (${t("newTab")})` : label;
  return (
    <a href={href} rel="noopener" target={elsewhere ? "_blank" : undefined} class={rest.class} dir="auto" title={named} aria-label={named} onClick={follow} onAuxClick={follow}>
      {children}
      {elsewhere && !label && <span class="tbr-elsewhere" title={t("newTab")}> <span class="tbr-visually-hidden">({t("newTab")})</span></span>}
    </a>
  );
}

export function TurnView({ store, turn, last }: { store: Store; turn: Turn; last: boolean }): VNode {
  const nearest = NEAREST[turn.mode];
  const failed = failedSteps(turn);
  const unsupported = turn.done && turn.statements.some((statement) => !statement.supported);
  return (
    <Fragment>
      <div class="tbr-question">
        {turn.body.selection && <div class="tbr-about" dir="auto">{excerpt(turn.body.selection.text)}</div>}
        {/* An exercise is asked in the book's own words, anything else in the reader's. */}
        {turn.body.solutions ? <div dir="auto">{renderMarkdown(turn.body.question, QUOTED)}</div> : <span dir="auto">{turn.body.question}</span>}
      </div>
      <div class={classes("tbr-reply", !turn.done && "tbr-pending", turn.confidence === "uncertain" && "tbr-uncertain", turn.mode === "refused" && "tbr-refused")}>
        <Captions turn={turn} />
        {turn.passages.length ? <Passages store={store} turn={turn} /> : <Text store={store} turn={turn} />}
        {!turn.passages.length && <Figures store={store} figures={turn.figures} />}
        {unsupported && <p class="tbr-note">{t("unsupported")}</p>}
        {isCut(turn) && <p class="tbr-note">{t("truncated")}</p>}
        {failed.length > 0 && <p class="tbr-note">{t("degraded", { steps: failed.join(", ") })}</p>}
        {turn.notice && <p class="tbr-note" role="status">{turn.notice}</p>}
        {turn.error && <p class="tbr-error">{turn.error}</p>}
        {turn.citations.length > 0 && !turn.passages.length && <Sources store={store} turn={turn} />}
        {nearest && turn.sources.length > 0 && <Nearest store={store} turn={turn} title={nearest} />}
        {turn.done && <Actions store={store} turn={turn} />}
        {turn.done && last && turn.follow_ups.length > 0 && <Questions store={store} title="askNext" questions={turn.follow_ups} />}
      </div>
    </Fragment>
  );
}

function Captions({ turn }: { turn: Turn }): VNode {
  const caption = captionOf(turn);
  const titles = [...new Set(turn.sources.map((source) => source.title))];
  return (
    <Fragment>
      {caption && <p class="tbr-mode">{caption}</p>}
      {turn.searched_for && <p class="tbr-note">{t("searchedFor", { question: turn.searched_for })}</p>}
      {!turn.done && !turn.answer && titles.length > 0 && (
        <p class="tbr-note">{t("reading", { titles: titles.slice(0, 3).join(", ") + (titles.length > 3 ? " …" : "") })}</p>
      )}
      {!turn.done && !turn.answer && <p class="tbr-dots" aria-hidden="true"><i /><i /><i /></p>}
    </Fragment>
  );
}

/** An uncertain answer made of passages begins with a notice in the reader's language. */
function captionOf(turn: Turn): string {
  if (turn.confidence === "uncertain") {
    return turn.mode === "generated" ? t("maybe") : (turn.answer.split("\n\n", 1)[0] ?? "");
  }
  const key = CAPTIONS[turn.mode];
  return key ? t(key) : "";
}

// --- text -----------------------------------------------------------------------------------

function Text({ store, turn }: { store: Store; turn: Turn }): VNode {
  const at = units(turn.answer);
  const byIndex = new Map(turn.citations.map((citation) => [citation.index, citation]));
  const chips: Chip[] = turn.citations.map(({ end, index }) => ({ at: at(end), index }));
  const ranges: Range[] = turn.statements
    .filter((statement) => !statement.supported)
    .map(({ start, end }) => ({ from: at(start), to: at(end), className: "tbr-unsupported", title: t("unsupportedTitle") }));
  const notes: Annotations = {
    ranges,
    chips,
    chip: ({ index }) => <CitationChip store={store} turn={turn} citation={byIndex.get(index)} />,
    link: (address, label) => answerLink(store, turn, address, label),
  };
  return <div class="tbr-answer" dir="auto">{renderMarkdown(turn.answer, notes, !turn.done)}</div>;
}

function CitationChip({ store, turn, citation }: { store: Store; turn: Turn; citation: Citation | undefined }): VNode | null {
  if (!citation) return null;
  const label = t("source", { index: citation.index, title: placeOf(citation) });
  return <Link store={store} target={citationTarget(citation)} answer={turn.answer_id} class="tbr-ref" label={label}>{`[${citation.index}]`}</Link>;
}

/** Chapter and section. */
const placeOf = ({ heading_path, title }: Citation) => heading_path.join(" › ") || title;

/** A link of the text: only to a web address; to a consulted passage with what finds it there. */
function answerLink(store: Store, turn: Pick<Turn, "sources" | "answer_id">, address: string, label: ComponentChildren): VNode | null {
  if (!/^https?:\/\//i.test(address)) return null;
  const source = turn.sources.find(({ url }) => url.split(":~:")[0] === address.split(":~:")[0]);
  const target = sourceTarget({ paragraph_id: source?.paragraph_id ?? "", url: address });
  return <Link store={store} target={target} answer={turn.answer_id}>{label}</Link>;
}

/** Whole blocks of the book under the headings they stand under, what answers marked. */
function Passages({ store, turn }: { store: Store; turn: Turn }): VNode {
  const shown = isHint(turn) ? turn.passages.slice(0, turn.hints) : turn.passages;
  return <div class="tbr-answer">{shown.map((passage) => <PassageView key={passage.permalink} store={store} passage={passage} answer={turn.answer_id} />)}</div>;
}

/** The passages of a hint are shown one by one. */
const isHint = (turn: Turn) => turn.body.solutions === "hint";

export function PassageView({ store, passage, answer = "" }: { store: Store; passage: Passage; answer?: string }): VNode {
  const shown = indentLists(passage.text);
  const unit = units(passage.text);
  const at = (point: number) => shown.at(unit(point));
  const ranges = passage.marks.map(([from, to]) => ({ from: at(from), to: at(to), className: "tbr-mark" }));
  const target = passageTarget(passage);
  // The text is the caption or the alternative text of its figure, which has it already.
  const captioned = passage.figures.some(({ caption, alt }) => (caption || alt) === passage.text);
  return (
    <div class="tbr-passage">
      <div class="tbr-passage-head">
        <Link store={store} target={target} answer={answer} class="tbr-section">{passage.heading_path.join(" › ")}</Link>
        <Share store={store} permalink={passage.permalink} />
      </div>
      <Figures store={store} figures={passage.figures} said={captioned ? "" : passage.text} />
      {!captioned && <div dir="auto">{renderMarkdown(shown.text, { ...QUOTED, compact: false, ranges, link: (address, label) => answerLink(store, { sources: [], answer_id: answer }, address, label) })}</div>}
    </div>
  );
}

// --- what follows an answer -----------------------------------------------------------------

function Sources({ store, turn }: { store: Store; turn: Turn }): VNode {
  const first = new Map<number, Citation>();
  for (const citation of turn.citations) if (!first.has(citation.index)) first.set(citation.index, citation);
  const listed = [...first.values()].sort((a, b) => a.index - b.index);
  return (
    <Fragment>
      <p class="tbr-list-title">{t("sources")}</p>
      <ol class="tbr-citations">
        {listed.map((citation) => (
          <li key={citation.index}>
            <Link store={store} target={citationTarget(citation)} answer={turn.answer_id} class="tbr-card">
              <span class="tbr-section">{`[${citation.index}] ${placeOf(citation)}`}</span>
              <span class="tbr-quote" dir="auto">{renderMarkdown(citation.quote, QUOTED)}</span>
            </Link>
            <Share store={store} permalink={citation.permalink} />
          </li>
        ))}
      </ol>
    </Fragment>
  );
}

export const QUOTED: Annotations = { ranges: [], chips: [], chip: () => <Fragment />, link: () => null, compact: true };

function Nearest({ store, turn, title }: { store: Store; turn: Turn; title: TextKey }): VNode {
  return (
    <Fragment>
      <p class="tbr-list-title">{t(title)}</p>
      <ul class="tbr-citations">
        {turn.sources.map((source) => (
          <li key={source.paragraph_id}>
            <Link store={store} target={sourceTarget(source)} answer={turn.answer_id} class="tbr-card">
              <span class="tbr-section">{source.title}</span>
              <span class="tbr-quote">{source.heading_path.join(" › ")}</span>
            </Link>
          </li>
        ))}
      </ul>
    </Fragment>
  );
}

function Share({ store, permalink }: { store: Store; permalink: string }): VNode {
  const [copied, copy] = useCopy();
  return (
    <button type="button" class="tbr-icon tbr-share" title={t("share")} aria-label={t("share")} onClick={() => copy(store.permalink(permalink))}>
      <Icon name={copied ? "check" : "link"} />
    </button>
  );
}

function Actions({ store, turn }: { store: Store; turn: Turn }): VNode {
  const [copied, copy] = useCopy();
  const asks = (solutions: "hint" | "show") => () => store.ask(turn.body.question, { solutions, ...(turn.body.selection ? { selection: turn.body.selection } : {}) });
  return (
    <div class="tbr-actions">
      {isHint(turn) && turn.hints < turn.passages.length && <button type="button" class="tbr-chip" onClick={() => store.nextHint(turn)}>{t("nextHint")}</button>}
      {turn.exercise && turn.body.solutions !== "hint" && <button type="button" class="tbr-chip" onClick={asks("hint")}>{t("hintAgain")}</button>}
      {turn.exercise && turn.body.solutions !== "show" && <button type="button" class="tbr-chip" onClick={asks("show")}>{t("solution")}</button>}
      {turn.answer && (
        <button type="button" class="tbr-icon" title={t("copyAnswer")} aria-label={t("copyAnswer")} onClick={() => copy(answerMarkdown(turn, (link) => store.absolute(link)))}>
          <Icon name={copied ? "check" : "copy"} />
        </button>
      )}
      <button type="button" class="tbr-icon" title={t("retry")} aria-label={t("retry")} onClick={() => store.retry(turn)}>
        <Icon name="retry" />
      </button>
      {turn.answer_id && <Thumbs store={store} turn={turn} />}
    </div>
  );
}

/** Two thumbs; below the second a field for the reason. */
function Thumbs({ store, turn }: { store: Store; turn: Turn }): VNode {
  const [reason, setReason] = useState<string | null>(null);
  const [said, setSaid] = useState("");
  const rate = (given: "up" | "down") => () => {
    const rating = turn.rating === given ? "none" : given;
    setReason(rating === "down" ? "" : null);
    store.rate(turn, rating).then(() => setSaid(rating === "none" ? "" : t("thanks")), (failure: Error) => setSaid(failure.message));
  };
  const send = (event: Event) => {
    event.preventDefault();
    if (!reason?.trim()) return;
    store.rate(turn, "down", reason.trim()).then(() => (setReason(null), setSaid(t("thanks"))), (failure: Error) => setSaid(failure.message));
  };
  const thumb = (given: "up" | "down", label: TextKey) => (
    <button type="button" class="tbr-icon" title={t(label)} aria-label={t(label)} aria-pressed={turn.rating === given} onClick={rate(given)}>
      <Icon name={given} />
    </button>
  );
  return (
    <Fragment>
      {thumb("up", "helpful")}
      {thumb("down", "unhelpful")}
      <span class="tbr-note" role="status">{said}</span>
      {reason !== null && (
        <form class="tbr-reason" onSubmit={send}>
          <input class="tbr-field" dir="auto" maxLength={500} aria-label={t("reason")} placeholder={t("reason")} value={reason} onInput={(event) => setReason(event.currentTarget.value)} />
          <button type="submit" class="tbr-chip">{t("send")}</button>
        </form>
      )}
    </Fragment>
  );
}

/** Questions to ask by a click; `children` stand below them. */
export function Questions({ store, title, questions, children }: { store: Store; title: TextKey; questions: readonly string[]; children?: ComponentChildren }): VNode {
  return (
    <div class="tbr-follow-ups">
      <p class="tbr-list-title">{t(title)}</p>
      {questions.map((question) => (
        <button key={question} type="button" class="tbr-follow-up" dir="auto" onClick={() => store.ask(question)}>{question}</button>
      ))}
      {children}
    </div>
  );
}

export function classes(...names: (string | false)[]): string {
  return names.filter(Boolean).join(" ");
}

/** The beginning of a text, its formulas drawn if it is whole. */
export function excerpt(text: string): ComponentChildren {
  return text === short(text) ? renderMarkdown(text, QUOTED) : short(text);
}

export function short(text: string, size = 120): string {
  return text.length > size ? `${text.slice(0, size)} …` : text;
}
