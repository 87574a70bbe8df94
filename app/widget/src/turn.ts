// A question and what has come of its answer so far, as the events of `POST /v1/chat` say.

export interface Citation {
  index: number;
  start: number;
  end: number;
  paragraph_id: string;
  url: string;
  permalink: string;
  title: string;
  heading_path: string[];
  quote: string;
  prefix: string;
  suffix: string;
}

/** An image of the book; `url` is absolute or a path on the book's site. */
export interface Figure {
  url: string;
  alt: string;
  caption: string;
  paragraph_id: string;
  page_url: string;
}

export interface Passage {
  paragraph_ids: string[];
  text: string;
  heading_path: string[];
  url: string;
  /** What `url` and `permalink` lead to. */
  paragraph_id: string;
  permalink: string;
  marks: [number, number][];
  figures: Figure[];
}

export interface Source {
  paragraph_id: string;
  url: string;
  title: string;
  heading_path: string[];
}

export interface Statement {
  start: number;
  end: number;
  supported: boolean;
}

export interface Answer {
  answer: string;
  mode: string;
  confidence: string;
  citations: Citation[];
  passages: Passage[];
  figures: Figure[];
  sources: Source[];
  statements: Statement[];
  degraded: string[];
  exercise: string;
  follow_ups: string[];
  searched_for: string;
  /** Names the answer in feedback; "" where the server takes none. */
  answer_id: string;
}

/** What is sent to `POST /v1/chat`. */
export interface Question {
  question: string;
  /** What a button asks of the open page, or of its chapter. */
  request?: { kind: "summary" | "quiz"; chapter?: "this" };
  book?: string;
  page_url: string;
  scope?: string;
  selection?: { text: string; paragraph_id?: string };
  solutions?: string;
  history: { role: "user" | "assistant"; content: string }[];
  stream: true;
}

export interface Turn extends Answer {
  body: Question;
  done: boolean;
  error: string;
  /** What is going on, such as a wait; "" if nothing is to be said. */
  notice: string;
  /** How many passages of a hint are shown. */
  hints: number;
  /** The reader's judgement. */
  rating?: Rating;
}

export type Rating = "up" | "down" | "none";

const empty = (): Answer => ({
  answer: "",
  mode: "",
  confidence: "",
  citations: [],
  passages: [],
  figures: [],
  sources: [],
  statements: [],
  degraded: [],
  exercise: "",
  follow_ups: [],
  searched_for: "",
  answer_id: "",
});

const TRUNCATED = "truncated";

/** Whether the model had to stop before its answer was complete. */
export const isCut = (turn: Turn) => turn.degraded.includes(TRUNCATED);

/** The steps that the answer was made without. */
export const failedSteps = (turn: Turn) => turn.degraded.filter((step) => step !== TRUNCATED);

export function newTurn(body: Question): Turn {
  return { ...empty(), body, done: false, error: "", notice: "", hints: 1 };
}

export interface WireEvent {
  name: string;
  // What the server sends; its form is checked there.
  data: Record<string, unknown>;
}

export function apply(turn: Turn, { name, data }: WireEvent): void {
  turn.notice = "";
  if (name === "start") Object.assign(turn, empty(), data);
  else if (name === "sources") turn.sources = data.sources as Source[];
  else if (name === "delta") turn.answer += data.text as string;
  else if (name === "citation") turn.citations = [...turn.citations, data as unknown as Citation];
  else if (name === "end") Object.assign(turn, data, { done: true });
  else if (name === "error") Object.assign(turn, { error: data.message as string, done: true });
}
