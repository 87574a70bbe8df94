// Room beside the page's text for the open panel.

const WIDTH = 400; // pixels, as in style.css
const ATTRIBUTE = "data-textbook-rag-docked";
// Site generators lay their columns out for the whole window: beside the panel, the page's own table of
// contents would leave the text too little room.
const CONTENTS = ".col:has(> .theme-doc-toc-desktop), .col:has(> * > .theme-doc-toc-desktop), .md-sidebar--secondary, .bd-sidebar-secondary";
const ROOM_FOR_CONTENTS = 1_600;
const RULES = `
html[${ATTRIBUTE}="right"] { margin-right: ${WIDTH}px; }
html[${ATTRIBUTE}="left"] { margin-left: ${WIDTH}px; }
@media (max-width: ${ROOM_FOR_CONTENTS}px) {
  html[${ATTRIBUTE}] :is(${CONTENTS}) { display: none !important; }
  html[${ATTRIBUTE}] .row:has(.theme-doc-toc-desktop) > .col:first-child { max-width: 100% !important; flex-basis: 100%; }
}
@media print { html[${ATTRIBUTE}] { margin: 0; } }`;

let sheet: CSSStyleSheet | null = null;

export function dock(host: HTMLElement, docked: boolean, side: "left" | "right"): void {
  const html = document.documentElement;
  host.toggleAttribute("data-docked", docked);
  if (docked && !sheet) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(RULES);
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  }
  if (docked === html.hasAttribute(ATTRIBUTE)) return;
  const cited = document.querySelector("[data-textbook-rag-cited]");
  const before = cited?.getBoundingClientRect();
  if (docked) html.setAttribute(ATTRIBUTE, side);
  else html.removeAttribute(ATTRIBUTE);
  // Lines of another width are higher or lower on the page: what the reader was shown stays in sight.
  const seen = before && before.bottom > 0 && before.top < innerHeight;
  if (cited && seen) scrollBy({ top: cited.getBoundingClientRect().top - before.top, behavior: "instant" });
}
