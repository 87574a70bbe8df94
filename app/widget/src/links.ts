// Where a citation leads on this site.
import type { Config } from "./config";

/** What is needed to find a cited text on its page again. */
export interface Target {
  id: string;
  url: string;
  quote: string;
  prefix: string;
  suffix: string;
}

/** Address of a page without what does not tell pages apart. */
export function pageKey(url: URL): string {
  const path = decoded(url.pathname).replace(/index\.html$/, "").replace(/\/+$/, "").replace(/\.html$/, "");
  return `${url.origin}${path}`;
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** The address that the book was read for, where this page is one of its pages at another address. */
function readFor(config: Config): string {
  if (config.baseUrl) return config.baseUrl;
  const canonical = document.querySelector<HTMLLinkElement>("link[rel=canonical]")?.href ?? "";
  try {
    const url = new URL(canonical);
    // Only if it names this very page, it says where the same book is served otherwise.
    return url.pathname.replace(/\/$/, "") === location.pathname.replace(/\/$/, "") ? url.origin : "";
  } catch {
    return "";
  }
}

function below(base: URL, url: URL): boolean {
  const path = base.pathname.replace(/\/$/, "");
  return url.origin === base.origin && (url.pathname === path || url.pathname.startsWith(`${path}/`));
}

/** Return the address on this site where the book is this site's, else as it is; null if it is no web address. */
export function localUrl(config: Config, address: string): URL | null {
  let url: URL;
  try {
    url = new URL(address, location.href);
    const base = readFor(config);
    if (base && below(new URL(base), url)) {
      const root = new URL(base).pathname.replace(/\/$/, "");
      // Served below the same path, such as /redux/, or at another: then at the root.
      const samePath = location.pathname === root || location.pathname.startsWith(`${root}/`);
      const path = samePath ? url.pathname : url.pathname.slice(root.length) || "/";
      const here = new URL(location.origin);
      here.pathname = path;
      here.search = url.search;
      here.hash = url.hash;
      url = here;
    }
  } catch {
    return null;
  }
  return url.protocol === "https:" || url.protocol === "http:" ? url : null;
}

/** Return the address of an image of the book, or "" if it has no web address; the server itself shows `/pages`. */
export function imageUrl(config: Config, address: string): string {
  return address.startsWith("/pages/") ? config.api + address : (localUrl(config, address)?.href ?? "");
}

/** Return the link to a target: its page with `?cite=`, or "" if it has no web address. */
export function targetHref(config: Config, target: Pick<Target, "id" | "url">): string {
  const url = localUrl(config, target.url);
  if (!url) return "";
  if (target.id) url.searchParams.set("cite", target.id);
  return url.href;
}

/** Whether the address is on another site. */
export function isElsewhere(href: string): boolean {
  return new URL(href).origin !== location.origin;
}

/** Whether the address is on the page that is open. */
export function isThisPage(href: string): boolean {
  try {
    return pageKey(new URL(href)) === pageKey(new URL(location.href));
  } catch {
    return false;
  }
}

/** The words of an address's text fragment. */
export function fragmentText(url: string): string {
  const directive = /:~:text=([^&]*)/.exec(url)?.[1] ?? "";
  try {
    return decodeURIComponent(directive.split(",").filter((part) => !part.endsWith("-") && !part.startsWith("-")).join(" "));
  } catch {
    return "";
  }
}
