// What the script's tag says: attributes, or the query of its address where a site generator allows no attributes.

export interface Config {
  readonly book: string;
  /** Address of the server, without a slash at its end. */
  readonly api: string;
  /** The site's publishable key; "" where the server needs none. */
  readonly key: string;
  /** Address that the book was read for; citations below it are opened on this page's own site. */
  readonly baseUrl: string;
  readonly label: string;
  readonly logo: string;
  /** Language of the panel; without it, the page's. */
  readonly language: string;
  /** "light" or "dark"; without it, the page's own theme. */
  readonly theme: string;
  readonly side: "left" | "right";
  /** Such as "Ctrl+I"; "none" for no shortcut. */
  readonly shortcut: string;
}

/** The book as a request names it; nothing for all books. */
export const ofBook = ({ book }: Config): { book?: string } => (book ? { book } : {});

const OWN_PATH = /(?:\/widget)?\/widget\.js$/;

function address(script: HTMLScriptElement): URL | null {
  try {
    return new URL(script.src, location.href);
  } catch {
    return null;
  }
}

/** The script's own element. `document.currentScript` is null in a module. */
function ownScript(): HTMLScriptElement | null {
  const current = document.currentScript;
  if (current instanceof HTMLScriptElement && current.src) return current;
  const own = [...document.scripts].filter((script) => OWN_PATH.test(address(script)?.pathname ?? ""));
  return own.find((script) => script.dataset.book) ?? own.at(-1) ?? null;
}

const withoutSlash = (text: string) => text.replace(/\/+$/, "");

export function readConfig(): Config {
  const script = ownScript();
  const src = script && address(script);
  const query = src?.searchParams;
  const get = (name: string) => {
    const key = name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
    return script?.dataset[key] ?? query?.get(name) ?? "";
  };
  const own = src ? src.origin + src.pathname.replace(OWN_PATH, "") : location.origin;
  // Where a page's lines end.
  const end = getComputedStyle(document.documentElement).direction === "rtl" ? "left" : "right";
  const side = get("side") || end;
  return {
    book: get("book"),
    api: withoutSlash(get("api") || own),
    key: get("key"),
    baseUrl: withoutSlash(get("base-url")),
    label: get("label"),
    logo: get("logo"),
    language: get("language"),
    theme: get("theme"),
    side: side === "left" ? "left" : "right",
    shortcut: get("shortcut") || "Ctrl+I",
  };
}
