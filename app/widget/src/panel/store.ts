// The panel's state and what can be done in it.
import { Api, Refusal, type Suggestions, type Term } from "../api";
import { CardBox, type Card } from "../cards";
import { ofBook, type Config } from "../config";
import { docked } from "../dock";
import { forget, land } from "../landing/land";
import { imageUrl, isElsewhere, isThisPage, targetHref, type Target } from "../links";
import { keepTarget, Session } from "../session";
import { t } from "../texts";
import { apply, isCut, newTurn, type Question, type Rating, type Turn } from "../turn";

export type View = "ask" | "find" | "terms" | "quiz";
export type Scope = "book" | "page" | "so_far";

export interface Selection {
  text: string;
  paragraph_id?: string;
}

const HISTORY_QUESTIONS = 3;
const MAX_TURN_CHARS = 4_000;
const MAX_SELECTION_CHARS = 4_000;

export class Store {
  open = false;
  view: View = "ask";
  turns: Turn[] = [];
  scope: Scope = "book";
  selection: Selection | null = null;
  /** What is said about the last landing. */
  landing = "";
  /** Said once by screen readers. */
  status = "";
  running: AbortController | null = null;
  /** Whether the page's terms are underlined, and the one that was clicked. */
  underlined = false;
  term: { term: Term; box: DOMRect } | null = null;
  /** Open or close with the focus; the panel sets it. */
  onToggle: (open: boolean) => void = (open) => this.setOpen(open);
  /** Cards that the quiz is to begin with. */
  deck: Card[] = [];
  readonly api: Api;
  readonly cards: CardBox;
  private readonly session: Session;
  private readonly listeners = new Set<() => void>();
  private suggested: { page: string; found: Promise<Suggestions> } | null = null;
  private frame = 0;

  constructor(readonly config: Config) {
    this.api = new Api(config);
    this.cards = new CardBox(config.book);
    this.session = new Session(
      config.book,
      () => ({ open: this.open, turns: this.turns }),
      (turns) => this.receive(turns),
    );
    addEventListener("pagehide", () => this.session.save());
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Draw again, at most once a frame. */
  changed(): void {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      for (const listener of this.listeners) listener();
    });
  }

  restore(): void {
    const saved = this.session.restore();
    if (!saved) return;
    this.turns = saved.turns;
    this.open = saved.open;
    const last = this.turns.at(-1);
    // A stream that the last page broke off goes on here.
    if (last && !last.done) void this.run(last);
    this.changed();
  }

  private receive(turns: Turn[]): void {
    if (this.running) return;
    this.turns = turns;
    this.session.save();
    this.changed();
  }

  setOpen(open: boolean): void {
    this.open = open;
    this.session.save();
    this.changed();
  }

  show(view: View): void {
    this.view = view;
    this.changed();
  }

  set(change: Partial<Pick<Store, "scope" | "selection" | "landing">>): void {
    Object.assign(this, change);
    this.changed();
  }

  clear(): void {
    this.stop();
    this.turns = [];
    this.selection = null;
    this.session.clear();
    forget();
    this.changed();
  }

  stop(): void {
    this.running?.abort();
  }

  // --- asking -----------------------------------------------------------------------------

  ask(question: string, more: Partial<Question> = {}): void {
    if (!question || this.running) return;
    const body: Question = {
      question,
      history: this.history(),
      page_url: location.origin + location.pathname,
      ...ofBook(this.config),
      ...(this.scope !== "book" ? { scope: this.scope } : {}),
      ...(this.selection ? { selection: { ...this.selection, text: this.selection.text.slice(0, MAX_SELECTION_CHARS) } } : {}),
      ...more,
      stream: true,
    };
    const turn = newTurn(body);
    this.turns = [...this.turns, turn];
    this.selection = null;
    this.view = "ask";
    void this.run(turn);
  }

  retry(turn: Turn): void {
    if (this.running) return;
    const again = newTurn(turn.body);
    this.turns = this.turns.map((each) => (each === turn ? again : each));
    void this.run(again);
  }

  nextHint(turn: Turn): void {
    turn.hints += 1;
    this.session.save();
    this.changed();
  }

  /** Keep the reader's judgement and send it. Raises Refusal. */
  async rate(turn: Turn, rating: Rating, reason?: string): Promise<void> {
    await this.api.rate(turn.answer_id, rating, reason);
    turn.rating = rating;
    this.session.save();
    this.changed();
  }

  /** What a reader of the page can ask; asked of the server once a page. */
  suggestions(page: string): Promise<Suggestions> {
    if (this.suggested?.page !== page) this.suggested = { page, found: this.api.suggestions(page) };
    return this.suggested.found;
  }

  private history(): Question["history"] {
    const turns = this.turns.filter((turn) => turn.done && turn.answer && !turn.error);
    return turns.slice(-HISTORY_QUESTIONS).flatMap((turn) => [
      { role: "user" as const, content: turn.body.question.slice(0, MAX_TURN_CHARS) },
      { role: "assistant" as const, content: turn.answer.slice(0, MAX_TURN_CHARS) },
    ]);
  }

  private async run(turn: Turn): Promise<void> {
    const controller = new AbortController();
    this.running = controller;
    this.status = t("searching");
    this.changed();
    try {
      await this.api.chat(turn.body, controller.signal, {
        event: (event) => {
          apply(turn, event);
          this.changed();
        },
        notice: (text) => {
          turn.notice = text;
          this.changed();
        },
      });
    } catch (error) {
      if (controller.signal.aborted) turn.error = t("stopped");
      else turn.error = error instanceof Refusal ? error.message : t("broken");
    }
    turn.done = true;
    turn.notice = "";
    this.running = null;
    this.status = turn.error || spoken(turn);
    this.session.save();
    this.session.tell();
    this.changed();
  }

  // --- going to a paragraph ---------------------------------------------------------------

  /** Return the absolute form of a permalink, which may be a path on the server. */
  permalink(link: string): string {
    return link.startsWith("/") ? this.config.api + link : link;
  }

  /** Return the absolute form of a permalink or of an image's address. */
  absolute(link: string): string {
    return link.startsWith("/cite/") ? this.permalink(link) : imageUrl(this.config, link) || link;
  }

  href(target: Pick<Target, "id" | "url">): string {
    return targetHref(this.config, target);
  }

  /** Follow a link to a paragraph: on this page it is shown at once, else the page changes. */
  follow(event: MouseEvent, target: Target, answerId: string): void {
    if (event.button === 2) return;
    if (answerId && target.id) this.api.opened(answerId, target.id);
    keepTarget(target);
    this.session.save();
    const plain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
    if (!plain) return;
    if (isElsewhere(this.href(target))) return;
    this.makeWay();
    if (!isThisPage(this.href(target))) return;
    event.preventDefault();
    void this.goTo(target);
  }

  async goTo(target: Target): Promise<void> {
    this.makeWay();
    const result = await land(target);
    this.landing = result === "changed" ? t("changed") : "";
    this.status = result === "landed" ? t("landed") : this.landing;
    this.changed();
  }

  /** Where the panel would cover the text, it closes for the paragraph. */
  private makeWay(): void {
    if (this.open && !docked()) this.setOpen(false);
  }
}

/** The answer for a screen reader: without Markdown's marks, its sources named. */
function spoken(turn: Turn): string {
  const answer = turn.body.solutions === "hint" ? (turn.passages[0]?.text ?? turn.answer) : turn.answer;
  const text = answer.replace(/\]\([^)]*\)/g, "").replace(/[*_`#>|[\]$]+/g, " ");
  const titles = new Set(turn.citations.map(({ index, title }) => t("source", { index, title })));
  return [text, ...titles, isCut(turn) ? t("truncated") : ""].join("\n").replace(/[^\S\n]+/g, " ").trim();
}
