// The button and the panel.
import { Fragment, type VNode } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { isComposing } from "../shortcut";
import { t, type TextKey } from "../texts";
import { BlockButton } from "./blocks";
import { AskAbout, TermCard } from "./floating";
import { classes, excerpt, TurnView } from "./answer";
import { Find } from "./find";
import { Icon } from "./icons";
import { Quiz } from "./quiz";
import { Starters } from "./starters";
import type { Scope, Store, View } from "./store";
import { Terms } from "./terms";

const MAX_QUESTION = 4_000;
const VIEWS: [View, TextKey][] = [["ask", "viewAsk"], ["find", "viewFind"], ["terms", "viewTerms"], ["quiz", "viewQuiz"]];
const SCOPES: [Scope, TextKey][] = [["book", "scopeBook"], ["page", "scopePage"], ["so_far", "scopeSoFar"]];

/** Redraw with the store; focus follows what the reader opens and closes. */
export function App({ store }: { store: Store }): VNode {
  const [, redraw] = useState(0);
  useEffect(() => store.subscribe(() => redraw((count) => count + 1)), [store]);
  const launch = useRef<HTMLButtonElement>(null);
  const input = useRef<HTMLTextAreaElement>(null);
  const acted = useRef(false);
  const label = store.config.label || t("label");

  useLayoutEffect(() => {
    if (!acted.current) return;
    acted.current = false;
    (store.open ? input.current : launch.current)?.focus({ preventScroll: true });
  }, [store.open]);
  const setOpen = (open: boolean) => {
    acted.current = true;
    store.setOpen(open);
  };
  useEffect(() => {
    store.onToggle = (open) => setOpen(open);
  });

  return (
    <div class={classes("tbr", store.config.side === "left" && "tbr-left")} onKeyDown={(event) => event.key === "Escape" && !isComposing(event) && store.open && setOpen(false)}>
      <button ref={launch} type="button" class="tbr-launch" hidden={store.open} aria-expanded={store.open} aria-controls="tbr-panel" onClick={() => setOpen(true)}>
        {store.config.logo ? <img src={store.config.logo} alt="" width="20" height="20" /> : <Icon name="book" />}
        {label}
      </button>
      <section id="tbr-panel" class="tbr-panel" role="dialog" aria-label={label} hidden={!store.open}>
        <div class="tbr-header">
          <h2 class="tbr-title">{label}</h2>
          <button type="button" class="tbr-icon" title={t("clear")} aria-label={t("clear")} onClick={() => { store.clear(); input.current?.focus(); }}><Icon name="trash" /></button>
          <button type="button" class="tbr-icon" title={t("close")} aria-label={t("close")} onClick={() => setOpen(false)}><Icon name="close" /></button>
        </div>
        <Tabs store={store} />
        {store.landing && <p class="tbr-landing">{store.landing}</p>}
        {store.open && store.view === "find" && <Find store={store} />}
        {store.open && store.view === "terms" && <Terms store={store} />}
        {store.open && store.view === "quiz" && <Quiz store={store} />}
        <Log store={store} />
        <Composer store={store} input={input} />
        <div class="tbr-visually-hidden" role="status" aria-live="polite">{store.status}</div>
      </section>
      {!store.open && store.landing && <p class="tbr-toast" role="status">{store.landing}</p>}
      <AskAbout store={store} />
      <BlockButton store={store} />
      <TermCard store={store} />
    </div>
  );
}

function Tabs({ store }: { store: Store }): VNode {
  const move = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const index = VIEWS.findIndex(([view]) => view === store.view);
    const next = VIEWS[(index + step + VIEWS.length) % VIEWS.length];
    if (!next) return;
    store.show(next[0]);
    const list = (event.currentTarget as HTMLElement).children;
    (list[VIEWS.indexOf(next)] as HTMLElement).focus();
  };
  return (
    <div class="tbr-tabs" role="tablist" aria-label={t("views")} onKeyDown={move}>
      {VIEWS.map(([view, key]) => (
        <button key={view} type="button" role="tab" id={`tbr-tab-${view}`} aria-controls={`tbr-view-${view}`} aria-selected={store.view === view} tabIndex={store.view === view ? 0 : -1} onClick={() => store.show(view)}>{t(key)}</button>
      ))}
    </div>
  );
}

function Log({ store }: { store: Store }): VNode {
  const log = useRef<HTMLDivElement>(null);
  // The question stays in sight while its answer grows, until the reader scrolls.
  const follows = useRef(false);
  const count = store.turns.length;
  useLayoutEffect(() => {
    follows.current = count > 0;
  }, [count]);
  useLayoutEffect(() => {
    const element = log.current;
    const question = element && [...element.querySelectorAll<HTMLElement>(".tbr-question")].at(-1);
    if (!element || !question || !follows.current) return;
    element.scrollTop += question.getBoundingClientRect().top - element.getBoundingClientRect().top - 12;
  });
  const letGo = () => (follows.current = false);
  return (
    <div ref={log} id="tbr-view-ask" class="tbr-log" role="tabpanel" tabIndex={0} aria-label={t("log")} hidden={store.view !== "ask"} onWheel={letGo} onTouchMove={letGo} onKeyDown={letGo} onPointerDown={letGo}>
      {count === 0 && <Fragment><p class="tbr-hint">{t("hint")}</p>{store.open && <Starters store={store} />}</Fragment>}
      {store.turns.map((turn, index) => <TurnView key={index} store={store} turn={turn} last={index === count - 1} />)}
    </div>
  );
}

function Composer({ store, input }: { store: Store; input: { current: HTMLTextAreaElement | null } }): VNode {
  const send = () => {
    const field = input.current;
    const question = field?.value.trim() ?? "";
    if (!field || !question || store.running) return;
    field.value = "";
    store.ask(question);
  };
  const submit = (event: Event) => {
    event.preventDefault();
    if (store.running) store.stop();
    else send();
  };
  const enter = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || isComposing(event)) return;
    event.preventDefault();
    send();
  };
  // The text between them may have formulas.
  const about = t("selected", { text: "\n" }).split("\n");
  const chosen = (event: Event) => store.set({ scope: (event.currentTarget as HTMLSelectElement).value as Scope });
  return (
    <form class="tbr-form" hidden={store.view !== "ask"} onSubmit={submit}>
      {store.selection && (
        <div class="tbr-selection">
          <div dir="auto">{about[0]}{excerpt(store.selection.text)}{about[1]}</div>
          <div class="tbr-actions">
            <button type="button" class="tbr-chip" onClick={() => store.ask(t("explainQuestion"))}>{t("explain")}</button>
            <button type="button" class="tbr-chip" onClick={() => store.ask(t("exampleQuestion"))}>{t("example")}</button>
            <button type="button" class="tbr-icon" title={t("dropSelection")} aria-label={t("dropSelection")} onClick={() => store.set({ selection: null })}><Icon name="close" /></button>
          </div>
        </div>
      )}
      <div class="tbr-box">
        <label class="tbr-visually-hidden" for="tbr-input">{t("question")}</label>
        <textarea ref={input} id="tbr-input" class="tbr-input" rows={1} maxLength={MAX_QUESTION} dir="auto" placeholder={t("placeholder")} onKeyDown={enter} />
        <div class="tbr-row">
          <label class="tbr-visually-hidden" for="tbr-scope">{t("scope")}</label>
          <select id="tbr-scope" class="tbr-scope" value={store.scope} onChange={chosen}>
            {SCOPES.map(([scope, key]) => <option key={scope} value={scope}>{t(key)}</option>)}
          </select>
          <button type="submit" class="tbr-send" aria-label={store.running ? t("stop") : t("ask")}><Icon name={store.running ? "stop" : "send"} /></button>
        </div>
      </div>
    </form>
  );
}
