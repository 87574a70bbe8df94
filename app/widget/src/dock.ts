// Room beside the page's text for the open panel.

const WIDTH = 400; // pixels, as in style.css
const ATTRIBUTE = "data-textbook-rag-docked";

let sheet: CSSStyleSheet | null = null;

export function dock(host: HTMLElement, docked: boolean, side: "left" | "right"): void {
  const html = document.documentElement;
  host.toggleAttribute("data-docked", docked);
  if (docked && !sheet) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(`html[${ATTRIBUTE}="right"] { margin-right: ${WIDTH}px; } html[${ATTRIBUTE}="left"] { margin-left: ${WIDTH}px; } @media print { html[${ATTRIBUTE}] { margin: 0; } }`);
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  }
  if (docked) html.setAttribute(ATTRIBUTE, side);
  else html.removeAttribute(ATTRIBUTE);
}
