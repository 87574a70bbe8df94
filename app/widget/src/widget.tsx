// The widget of a book's pages: one tag, its own styles, nothing else needed. See app/widget/README.md.
import { render } from "preact";
import { loadFrom } from "./assets";
import { readConfig, type Config } from "./config";
import { dock } from "./dock";
import { forget, land } from "./landing/land";
import { App } from "./panel/panel";
import { selected } from "./panel/floating";
import { Store } from "./panel/store";
import css from "./panel/style.css";
import { keptTarget } from "./session";
import { isShortcut } from "./shortcut";
import { currentLanguage, direction, setLanguage } from "./texts";
import { followTheme } from "./theme";
import { fitVisibleArea } from "./visible_area";

const TAG = "textbook-rag";

class Widget extends HTMLElement {
  private readonly sheet = new CSSStyleSheet();

  start(config: Config): void {
    const root = this.attachShadow({ mode: "open" });
    // A constructed sheet is allowed by every Content-Security-Policy.
    this.sheet.replaceSync(css);
    root.adoptedStyleSheets = [this.sheet];
    const store = new Store(config);
    const draw = () => {
      this.lang = currentLanguage();
      this.dir = direction();
      render(<App store={store} />, root);
    };
    if (config.theme) this.dataset.theme = config.theme;
    else followTheme((theme) => (this.dataset.theme = theme));
    store.restore();
    const place = () => dock(this, store.open, config.side);
    store.subscribe(place);
    addEventListener("resize", place);
    place();
    draw();
    fitVisibleArea(this);
    const language = config.language || document.documentElement.lang || navigator.language;
    setLanguage(language).then(() => currentLanguage() !== "en" && draw(), () => undefined);
    this.listen(store, config);
    this.showCited(store);
    this.followNavigation(store);
  }

  private listen(store: Store, config: Config): void {
    // Sites take single keys too, such as "s" for their search, and see no text field in a shadow root.
    for (const type of ["keydown", "keypress", "keyup"] as const) {
      this.addEventListener(type, (event) => event.ctrlKey || event.metaKey || event.altKey || event.stopPropagation());
    }
    document.addEventListener("keydown", (event) => {
      if (!isShortcut(event, config.shortcut)) return;
      event.preventDefault();
      const found = store.open ? null : selected();
      if (found) store.selection = { text: found.text, ...(found.paragraph_id ? { paragraph_id: found.paragraph_id } : {}) };
      store.onToggle(!store.open);
    }, true);
  }

  /** Show the paragraph that the page's address names. */
  private showCited(store: Store): void {
    const id = new URLSearchParams(location.search).get("cite");
    if (!id) return;
    const target = keptTarget(id);
    if (target) void store.goTo(target);
    else void land({ id, url: location.href, quote: "", prefix: "", suffix: "" });
  }

  /** Sites that change their pages in place: what was marked belongs to the page before. */
  private followNavigation(store: Store): void {
    let page = location.pathname;
    const check = () => {
      // A site that replaces its whole body takes the panel with it.
      if (!this.isConnected) document.body.append(this);
      if (location.pathname === page) return;
      page = location.pathname;
      forget();
      store.landing = "";
      store.term = null;
      store.changed();
      this.showCited(store);
    };
    new MutationObserver(check).observe(document.documentElement, { childList: true, subtree: true });
    addEventListener("popstate", check);
  }
}

function start(config: Config): void {
  if (document.querySelector(TAG)) return;
  const widget = document.createElement(TAG) as Widget;
  document.body.append(widget);
  widget.start(config);
}

// A second tag on the page, or a script that is run again, shows no second panel.
if (!customElements.get(TAG)) {
  customElements.define(TAG, Widget);
  const config = readConfig();
  loadFrom(config.api);
  if (document.body) start(config);
  else addEventListener("DOMContentLoaded", () => start(config), { once: true });
}
