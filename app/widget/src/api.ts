// The server: questions with their streamed answers, search, glossary.
import { ofBook, type Config } from "./config";
import { t } from "./texts";
import type { Question, Rating, WireEvent } from "./turn";

const RETRIES = 3; // of an answer that breaks off, after 1, 2 and 4 s; each may cost another answer
const MAX_WAIT_SECONDS = 10; // for a server that says when to ask again
const BUSY = new Set([429, 503]);

/** The server's own word, or the site's: asking again would not help. */
export class Refusal extends Error {}

export interface Hit {
  text: string;
  url: string;
  chapter: string;
  section: string;
  heading_path: string[];
  paragraph_ids: string[];
}

export interface Term {
  term: string;
  definition: string;
  paragraph_id: string;
  url: string;
  forms: string[];
}

export interface Exercise {
  paragraph_id: string;
  text: string;
}

/** What a reader of a page can ask. */
export interface Suggestions {
  questions: string[];
  exercises: Exercise[];
}

export interface Listener {
  event(event: WireEvent): void;
  /** What is going on, for the reader. */
  notice(text: string): void;
}

type Sent = Omit<RequestInit, "headers"> & { headers?: Record<string, string>; signal?: AbortSignal };

export class Api {
  private blockedByPolicy = false;

  constructor(private readonly config: Config) {
    document.addEventListener("securitypolicyviolation", (event) => {
      if (event.blockedURI.startsWith(config.api)) this.blockedByPolicy = true;
    });
  }

  /** Hand over the answer's events; when the connection breaks, ask again: `start` begins it anew. */
  async chat(body: Question, signal: AbortSignal, listener: Listener): Promise<void> {
    let begun = false;
    let failures = 0;
    for (;;) {
      let ended = false;
      try {
        await this.chatOnce(body, signal, {
          notice: listener.notice,
          event: (event) => {
            begun = true;
            ended = event.name === "end" || event.name === "error";
            listener.event(event);
          },
        });
      } catch (error) {
        if (signal.aborted || error instanceof Refusal) throw error;
        if (!navigator.onLine) {
          listener.notice(t("offline"));
          await online(signal);
          continue;
        }
        if (!begun) await this.explain();
      }
      if (ended) return;
      if (!begun && failures === 1) throw new Refusal(t("unreachable"));
      if (failures === RETRIES) throw new Refusal(t("broken"));
      listener.notice(t("reconnecting"));
      await pause(1000 * 2 ** failures, signal);
      failures += 1;
    }
  }

  private async chatOnce(body: Question, signal: AbortSignal, listener: Listener): Promise<void> {
    const headers = { Accept: "text/event-stream" };
    const response = await this.post("/v1/chat", body, { headers, signal }, listener.notice);
    if (!response.ok) throw await this.refusal(response);
    if (!response.body) return;
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let buffer = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      buffer += value;
      const blocks = buffer.split("\n\n");
      buffer = blocks.pop() ?? "";
      for (const block of blocks) {
        const event = parseEvent(block);
        if (event) listener.event(event);
      }
    }
  }

  /** `page` decides which version and locale of the book is searched. */
  async search(question: string, page: string, signal: AbortSignal): Promise<Hit[]> {
    const body = { question, k: 20, page_url: page, ...ofBook(this.config) };
    const found = await this.json(() => this.post("/v1/search", body, { signal }), signal);
    return (found as { hits: Hit[] } | null)?.hits ?? [];
  }

  /** Say whether an answer helped; "none" takes the earlier rating back. Raises Refusal. */
  async rate(answerId: string, rating: Rating, reason?: string): Promise<void> {
    const body = { answer_id: answerId, rating, ...(reason ? { reason } : {}) };
    const response = await this.post("/v1/feedback", body);
    if (!response.ok) throw await this.refusal(response);
  }

  /** The glossary's terms of the page; none where the book does not have the page. */
  async terms(page: string): Promise<Term[]> {
    const found = await this.ofPage("/v1/glossary", page);
    return (found as { terms: Term[] } | null)?.terms ?? [];
  }

  /** Starter questions and exercises of the page; none where the book does not have the page. */
  async suggestions(page: string): Promise<Suggestions> {
    const found = await this.ofPage("/v1/suggestions", page);
    return (found as Suggestions | null) ?? { questions: [], exercises: [] };
  }

  private ofPage(path: string, page: string): Promise<unknown> {
    const query = new URLSearchParams({ page, ...ofBook(this.config) });
    return this.json(() => this.fetch(`${path}?${query}`));
  }

  /** Say that a citation, passage or source of the answer is opened; the page may be left at once. */
  opened(answerId: string, paragraphId: string): void {
    const { api, key } = this.config;
    const query = key ? `?${new URLSearchParams({ key })}` : ""; // a beacon has no headers of its own
    const body = { answer_id: answerId, citation: { paragraph_id: paragraphId, event: "clicked" } };
    navigator.sendBeacon(`${api}/v1/feedback${query}`, JSON.stringify(body));
  }

  private post(path: string, body: unknown, { headers, signal }: Sent = {}, notice?: Listener["notice"]): Promise<Response> {
    const sent = { method: "POST", headers: { "Content-Type": "application/json", ...headers }, body: JSON.stringify(body) };
    return this.fetch(path, { ...sent, ...(signal ? { signal } : {}) }, notice);
  }

  /** Fetch with the site's key; a busy server is asked once more, when it says so. */
  private async fetch(path: string, { headers, ...rest }: Sent = {}, notice: Listener["notice"] = () => undefined): Promise<Response> {
    const key: Record<string, string> = this.config.key ? { Authorization: `Bearer ${this.config.key}` } : {};
    const ask = () => fetch(this.config.api + path, { ...rest, headers: { ...key, ...headers } });
    const response = await ask();
    const wait = BUSY.has(response.status) ? Number(response.headers.get("Retry-After")) : 0;
    if (!(wait > 0 && wait <= MAX_WAIT_SECONDS)) return response;
    await countdown(wait, rest.signal, (seconds) => notice(t("wait", { seconds })));
    return ask();
  }

  /** Return the response's JSON; null for a 404. Raises Refusal. */
  private async json(request: () => Promise<Response>, signal?: AbortSignal): Promise<unknown> {
    let response: Response;
    try {
      response = await request();
    } catch (error) {
      if (signal?.aborted) throw error;
      await this.explain();
      throw new Refusal(t("unreachable"));
    }
    if (response.status === 404) return null;
    if (!response.ok) throw await this.refusal(response);
    return response.json();
  }

  /** The server's own word; where the site's key is at fault, what its owner can do. */
  private async refusal(response: Response): Promise<Refusal> {
    const { code, detail } = await problem(response);
    const { api: server } = this.config;
    const { origin } = location;
    if (code.startsWith("key_")) return told(t("keyDetail", { server, origin }));
    if (code === "origin_not_allowed") return told(t("keyOriginDetail", { server, origin }));
    return new Refusal(detail || t("errorStatus", { status: response.status }));
  }

  /** Raise Refusal with what an owner can do, if the server is there but this site may not ask it. */
  private async explain(): Promise<void> {
    const server = this.config.api;
    const { origin } = location;
    if (this.blockedByPolicy) throw told(t("policyDetail", { server }));
    if (new URL(server).origin === origin) return;
    try {
      // An opaque response: the server answers, it only does not allow this origin to read.
      await fetch(`${server}/healthz`, { mode: "no-cors", cache: "no-store" });
    } catch {
      if (this.blockedByPolicy) throw told(t("policyDetail", { server }));
      return;
    }
    throw told(t(this.config.key ? "keyOriginDetail" : "originDetail", { server, origin }));
  }
}

function told(detail: string): Refusal {
  console.error(`textbook-rag: ${detail}`);
  return new Refusal(`${t("originTitle")} ${detail}`);
}

function parseEvent(block: string): WireEvent | null {
  const fields: Record<string, string> = {};
  for (const line of block.split("\n")) {
    const found = /^(event|data): (.*)$/.exec(line);
    if (found?.[1]) fields[found[1]] = found[2] ?? "";
  }
  if (!fields.data) return null;
  return { name: fields.event ?? "", data: JSON.parse(fields.data) as Record<string, unknown> };
}

async function problem(response: Response): Promise<{ code: string; detail: string }> {
  try {
    return { code: "", detail: "", ...((await response.json()) as object) };
  } catch {
    return { code: "", detail: "" };
  }
}

function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    });
  });
}

async function countdown(seconds: number, signal: AbortSignal | undefined, show: (left: number) => void): Promise<void> {
  for (let left = Math.ceil(seconds); left > 0; left--) {
    show(left);
    await pause(1000, signal);
  }
}

function online(signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    addEventListener("online", () => resolve(), { once: true });
    signal.addEventListener("abort", () => reject(signal.reason as Error));
  });
}
