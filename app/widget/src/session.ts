// The conversation of this session: kept from page to page, and handed to other tabs of the same site.
import type { Target } from "./links";
import type { Turn } from "./turn";

export interface Saved {
  open: boolean;
  turns: Turn[];
}

const KEPT_TURNS = 20;
const KEPT_TARGETS = 60;
const TARGETS = "textbook-rag:targets";

export class Session {
  private readonly key: string;
  private readonly channel: BroadcastChannel | null;

  constructor(book: string, private readonly current: () => Saved, private readonly receive: (turns: Turn[]) => void) {
    this.key = `textbook-rag:${book}`;
    this.channel = typeof BroadcastChannel === "function" ? new BroadcastChannel(this.key) : null;
    if (this.channel) this.channel.onmessage = (event: MessageEvent<{ turns?: Turn[] }>) => this.hear(event.data);
  }

  private hear(message: { turns?: Turn[] }): void {
    if (message.turns) this.receive(message.turns);
    else this.tell();
  }

  /** Hand the finished turns to other tabs. */
  tell(): void {
    const turns = this.current().turns.filter((turn) => turn.done);
    if (turns.length) this.channel?.postMessage({ turns });
  }

  clear(): void {
    this.channel?.postMessage({ turns: [] });
    this.save();
  }

  save(): void {
    const { open, turns } = this.current();
    try {
      sessionStorage.setItem(this.key, JSON.stringify({ open, turns: turns.slice(-KEPT_TURNS) }));
    } catch {
      // Storage is off or full: the conversation then ends with the page.
    }
  }

  /** Return what this tab has; where it has nothing, other tabs are asked. */
  restore(): Saved | null {
    try {
      const saved = JSON.parse(sessionStorage.getItem(this.key) ?? "null") as Saved | null;
      if (saved && Array.isArray(saved.turns)) return saved;
    } catch {
      return null;
    }
    this.channel?.postMessage({});
    return null;
  }
}

/** Keep where citations lead: a page that is opened by one, also in a new tab, finds the quote here. */
export function keepTarget(target: Target): void {
  try {
    const others = targets().filter((each) => each.id !== target.id);
    localStorage.setItem(TARGETS, JSON.stringify([...others, target].slice(-KEPT_TARGETS)));
  } catch {
    // Without storage the link's own text fragment shows the paragraph.
  }
}

export function keptTarget(id: string): Target | null {
  return targets().find((each) => each.id === id) ?? null;
}

function targets(): Target[] {
  try {
    const kept = JSON.parse(localStorage.getItem(TARGETS) ?? "[]") as Target[];
    return Array.isArray(kept) ? kept : [];
  } catch {
    return [];
  }
}
