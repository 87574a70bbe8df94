// What a reader knew of the book's terms and questions: a Leitner box, kept in this browser alone.

const DAYS = [1, 2, 4, 8, 16, 32]; // until a card comes again that was known as often as its place says
const KEPT_CARDS = 1_000;
const DAY_MS = 86_400_000;

/** A term or an exercise of the book. */
export interface Card {
  /** The paragraph's id. */
  id: string;
  /** Markdown, as `answer` is. */
  question: string;
  /** "" until the reader has seen it. */
  answer: string;
  /** Where the book has it. */
  url: string;
}

interface KeptCard extends Card {
  /** How often it was known, one after the other. */
  known: number;
  /** The day it comes again, counted from 1970. */
  due: number;
}

const today = () => Math.floor((Date.now() - new Date().getTimezoneOffset() * 60_000) / DAY_MS);

export class CardBox {
  private readonly key: string;

  constructor(book: string) {
    this.key = `textbook-rag:cards:${book}`;
  }

  all(): KeptCard[] {
    try {
      const kept = JSON.parse(localStorage.getItem(this.key) ?? "[]") as KeptCard[];
      return Array.isArray(kept) ? kept : [];
    } catch {
      return [];
    }
  }

  /** The cards to repeat today, those that were known least first. */
  due(): KeptCard[] {
    return this.all().filter((card) => card.due <= today()).sort((a, b) => a.known - b.known);
  }

  /** Whether a card's answer was known the last time; null if it was never judged. */
  knew(id: string): boolean | null {
    const card = this.all().find((each) => each.id === id);
    return card ? card.known > 0 : null;
  }

  /** A known card comes again later each time; a missed one is due until it is known. */
  judge({ id, question, answer, url }: Card, knew: boolean): void {
    const kept = this.all();
    const before = kept.find((card) => card.id === id)?.known ?? 0;
    const wait = DAYS[Math.min(before, DAYS.length - 1)] ?? 0;
    const card = { id, question, answer, url, known: knew ? before + 1 : 0, due: today() + (knew ? wait : 0) };
    try {
      localStorage.setItem(this.key, JSON.stringify([...kept.filter((each) => each.id !== id), card].slice(-KEPT_CARDS)));
    } catch {
      // Without storage a card is forgotten with the page.
    }
  }

  clear(): void {
    localStorage.removeItem(this.key);
  }
}

/** Return the cards as a file that Anki imports as plain text: question, answer, address. */
export function ankiFile(cards: readonly Card[]): string {
  const rows = cards.map(({ question, answer, url }) => [question, answer, url].map(cell).join(","));
  return ["#separator:Comma", "#html:false", ...rows, ""].join("\n");
}

/** A blank keeps a spreadsheet from taking the book's text for a formula. */
const cell = (text: string) => `"${text.replace(/^(?=[=+\-@\t\r])/, " ").replaceAll('"', '""')}"`;
