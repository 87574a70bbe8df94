// Room beside the page's text for the open panel, and above the site's own buttons.
import { mainContent } from "./landing/text";

const WIDTH = 400; // pixels, as in style.css
const DOCKED_FROM = 1_100; // pixels of the window
const NARROWEST_TEXT = 520; // pixels, some 70 characters: Docusaurus has 548 in a window of 1,280
const ATTRIBUTE = "data-textbook-rag-docked";
// Site generators lay their columns out for the whole window: beside the panel, the page's own table of
// contents would leave the text too little room.
const CONTENTS = ".col:has(> .theme-doc-toc-desktop), .col:has(> * > .theme-doc-toc-desktop), .md-sidebar--secondary, .bd-sidebar-secondary";
const ROOM_FOR_CONTENTS = 1_600;
const RULES = `
html:has(.theme-back-to-top-button) { --textbook-rag-lift: 60px; }
html[${ATTRIBUTE}="right"] .theme-back-to-top-button { margin-right: ${WIDTH}px; }
html[${ATTRIBUTE}="right"] { margin-right: ${WIDTH}px; }
html[${ATTRIBUTE}="left"] { margin-left: ${WIDTH}px; }
@media (max-width: ${ROOM_FOR_CONTENTS}px) {
  html[${ATTRIBUTE}] :is(${CONTENTS}) { display: none !important; }
  html[${ATTRIBUTE}] .row:has(.theme-doc-toc-desktop) > .col:first-child { max-width: 100% !important; flex-basis: 100%; }
  html[${ATTRIBUTE}] .bd-main .bd-content .bd-article-container { max-width: 100%; }
}
@media print { html[${ATTRIBUTE}] { margin: 0; } }`;

const html = document.documentElement;
let sheet: CSSStyleSheet | null = null;
let placed = ""; // what the panel was placed for

/** Whether the panel stands beside the page's text instead of on it. */
export const docked = () => html.hasAttribute(ATTRIBUTE);

/** Dock the open panel if the page has room for it, else let it float. */
export function dock(host: HTMLElement, open: boolean, side: "left" | "right"): void {
  const wanted = [open, innerWidth, location.pathname].join();
  if (wanted === placed) return;
  placed = wanted;
  if (!sheet) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(RULES);
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  }
  // While the page is loading, the browser itself goes back to where the reader was.
  const kept = document.readyState === "complete" ? shown() : null;
  const before = kept?.getBoundingClientRect().top ?? 0;
  html.removeAttribute(ATTRIBUTE);
  if (open && innerWidth >= DOCKED_FROM) makeRoom(side);
  host.toggleAttribute("data-docked", docked());
  // Lines of another width are higher or lower on the page: what the reader looks at stays in its place.
  if (kept) scrollBy({ top: kept.getBoundingClientRect().top - before, behavior: "instant" });
}

function makeRoom(side: "left" | "right"): void {
  const before = textWidth();
  html.setAttribute(ATTRIBUTE, side);
  if (textWidth() < Math.min(before, NARROWEST_TEXT)) html.removeAttribute(ATTRIBUTE);
}

function textWidth(): number {
  const main = mainContent();
  const paragraphs = [...main.querySelectorAll("p")].map((paragraph) => paragraph.clientWidth);
  return Math.max(...paragraphs) || main.clientWidth;
}

/** The cited block, if it is in sight, else the one that is being read. */
function shown(): Element | null {
  const cited = document.querySelector("[data-textbook-rag-cited]");
  const box = cited?.getBoundingClientRect();
  if (box && box.bottom > 0 && box.top < innerHeight) return cited;
  const blocks = scrollY > 0 ? [...mainContent().querySelectorAll("p, li, pre, tr, h2, h3, h4, figure")] : [];
  return blocks.find((block) => block.getBoundingClientRect().bottom > innerHeight / 4) ?? null;
}
