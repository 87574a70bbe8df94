// The page's own theme: what its switch says, else what its background shows.

const WATCHED = ["class", "style", "data-theme", "data-mode", "data-bs-theme", "data-color-mode", "data-md-color-scheme"];
const NAMED = ["data-theme", "data-bs-theme", "data-color-mode", "data-mode", "data-md-color-scheme"];
const DARK = /\b(?:dark|slate|night|coal|navy|ayu)\b/;
const LIGHT = /\b(?:light|default|day|rust)\b/;

const system = () => matchMedia("(prefers-color-scheme: dark)").matches;

export function pageTheme(): "dark" | "light" {
  for (const element of [document.documentElement, document.body]) {
    const named = [...NAMED.map((name) => element.getAttribute(name)), element.className].join(" ");
    if (DARK.test(named)) return "dark";
    if (LIGHT.test(named)) return "light";
  }
  return (darkBackground() ?? system()) ? "dark" : "light";
}

/** Whether the page's background is dark; null where it has none of its own. */
function darkBackground(): boolean | null {
  for (const element of [document.body, document.documentElement]) {
    const [red, green, blue, alpha] = (getComputedStyle(element).backgroundColor.match(/[\d.]+/g) ?? []).map(Number);
    if (red === undefined || green === undefined || blue === undefined || alpha === 0) continue;
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue < 110;
  }
  // Without a colour-scheme of its own a page is white, whatever the system prefers.
  const declares = document.querySelector("meta[name=color-scheme][content*=dark]") ?? /dark/.test(getComputedStyle(document.documentElement).colorScheme);
  return declares ? null : false;
}

/** Call `change` with the theme now and whenever it changes. */
export function followTheme(change: (theme: "dark" | "light") => void): void {
  let last = "";
  const update = () => {
    const theme = pageTheme();
    if (theme === last) return;
    last = theme;
    // Marks on a dark page are fainter: its light letters stay readable on them.
    document.documentElement.style.setProperty("--textbook-rag-strength", theme === "dark" ? "0.5" : "1");
    change(theme);
  };
  const observer = new MutationObserver(update);
  for (const element of [document.documentElement, document.body]) {
    observer.observe(element, { attributes: true, attributeFilter: WATCHED });
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", update);
  update();
}
