// A plain chat box for a book's pages: one file, no dependencies.
//
//   <script src="/widget/widget.js" defer data-book="my-book"></script>
//
// data-book      the book to ask; without it, every book of the server
// data-api       the API's origin; without it, the page's own
// data-label     the words on its button; without it, "Ask this book"
// data-base-url  citations that begin with it are opened on the page's own origin
//
// It does two things: it opens the paragraph that `?cite=` names, and it asks the API and shows the
// streamed answer with its citations and what to ask next. Text of an answer only ever goes into text nodes.
(() => {
  "use strict";

  const script = document.currentScript;
  const config = {
    book: script.dataset.book || "",
    api: (script.dataset.api || "").replace(/\/$/, ""),
    baseUrl: (script.dataset.baseUrl || "").replace(/\/$/, ""),
  };
  const LABEL = script.dataset.label || "Ask this book";
  const STORE = `textbook-rag:${config.book}`;
  const KEPT_TURNS = 10; // questions that stay in the box from page to page
  const HISTORY_QUESTIONS = 3; // of those, what is sent along with a new one
  const MAX_QUESTION = 4000;
  const RETRIES = 4; // of a connection that breaks, after 1, 2, 4 and 8 s
  const NARROW = window.matchMedia("(max-width: 40rem)");

  // --- the cited paragraph -----------------------------------------------------------------

  function openCitedParagraph() {
    const id = new URLSearchParams(location.search).get("cite");
    if (!id) return;
    const found = [...document.querySelectorAll(`[data-paragraph-id="${CSS.escape(id)}"]`)];
    if (!found.length) return;
    for (const element of found) {
      element.classList.add("cited");
      for (let each = element; each; each = each.parentElement) {
        if (each.tagName === "DETAILS") each.open = true;
      }
    }
    const first = found[0];
    first.tabIndex = -1;
    first.focus({ preventScroll: true });
    const show = () => {
      const tall = first.getBoundingClientRect().height > innerHeight * 0.7;
      first.scrollIntoView({ block: tall ? "start" : "center" });
    };
    show();
    // Images above may still push the text down.
    if (document.readyState !== "complete") addEventListener("load", show, { once: true });
  }

  // --- small helpers -----------------------------------------------------------------------

  function make(tag, className, text) {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  }

  // Where a citation leads: its page with `?cite=`, on this origin when the book is this site's.
  function citationHref(citation) {
    let url;
    try {
      const own = config.baseUrl && citation.url.startsWith(`${config.baseUrl}/`);
      url = new URL(own ? citation.url.slice(config.baseUrl.length) : citation.url, location.href);
    } catch {
      return "";
    }
    if (url.protocol !== "https:" && url.protocol !== "http:") return "";
    if (citation.paragraph_id) url.searchParams.set("cite", citation.paragraph_id);
    return url.href;
  }

  function link(citation, className, text) {
    const href = citationHref(citation);
    const element = make(href ? "a" : "span", className, text);
    if (href) {
      element.href = href;
      element.rel = "noopener";
      element.addEventListener("click", () => NARROW.matches && setOpen(false));
    }
    return element;
  }

  // --- the box -----------------------------------------------------------------------------

  const root = make("div", "tbr");
  const launch = make("button", "tbr-launch", LABEL);
  const panel = make("section", "tbr-panel");
  const log = make("div", "tbr-log");
  const hint = make("p", "tbr-hint", "Ask a question. The answer comes from the text, and every "
    + "claim links to the paragraph it rests on.");
  const status = make("div", "tbr-visually-hidden");
  const input = make("textarea", "tbr-input");
  const send = make("button", "tbr-send", "Ask");

  // `anchor`: the question that stays in sight while its answer grows, until the reader scrolls.
  const state = { open: false, turns: [], running: null, anchor: null };

  function build() {
    launch.type = "button";
    launch.setAttribute("aria-expanded", "false");
    panel.id = "tbr-panel";
    launch.setAttribute("aria-controls", panel.id);
    panel.setAttribute("role", "dialog");
    panel.setAttribute("aria-label", LABEL);
    panel.hidden = true;

    const header = make("div", "tbr-header");
    const clear = make("button", "tbr-plain", "Clear");
    const close = make("button", "tbr-plain", "Close");
    clear.type = close.type = "button";
    clear.addEventListener("click", clearTurns);
    close.addEventListener("click", () => setOpen(false));
    header.append(make("h2", "tbr-title", LABEL), clear, close);

    log.tabIndex = 0;
    log.setAttribute("aria-label", "Questions and answers");
    for (const type of ["wheel", "touchmove", "keydown", "pointerdown"]) {
      log.addEventListener(type, () => (state.anchor = null), { passive: true });
    }
    // The streamed text would be read again with every word: the whole answer is announced once.
    status.setAttribute("role", "status");
    status.setAttribute("aria-live", "polite");

    const form = make("form", "tbr-form");
    const label = make("label", "tbr-visually-hidden", "Your question");
    input.id = "tbr-input";
    label.htmlFor = input.id;
    input.rows = 1;
    input.maxLength = MAX_QUESTION;
    input.placeholder = "What is …?";
    send.type = "submit";
    form.append(label, input, send);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (state.running) state.running.abort();
      else ask(input.value.trim());
    });
    input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      if (!state.running) form.requestSubmit();
    });

    log.append(hint);
    panel.append(header, log, form, status);
    root.append(panel, launch);
    root.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && state.open) setOpen(false);
    });
    launch.addEventListener("click", () => setOpen(true));
    document.body.append(root);
  }

  function setOpen(open, focus = true) {
    state.open = open;
    panel.hidden = !open;
    launch.hidden = open;
    launch.setAttribute("aria-expanded", String(open));
    root.classList.toggle("tbr-open", open);
    document.documentElement.classList.toggle("chat-open", open);
    keepInSight();
    if (focus) (open ? input : launch).focus();
    save();
  }

  function clearTurns() {
    if (state.running) state.running.abort();
    state.turns = [];
    state.anchor = null;
    log.replaceChildren(hint);
    save();
    input.focus();
  }

  // A citation is a plain link: the page changes, and the conversation is found again here.
  function save() {
    const turns = state.turns.filter((turn) => turn.done).slice(-KEPT_TURNS);
    try {
      sessionStorage.setItem(STORE, JSON.stringify({ open: state.open, turns }));
    } catch {
      // Storage is off or full: the conversation then ends with the page.
    }
  }

  function restore() {
    let saved = null;
    try {
      saved = JSON.parse(sessionStorage.getItem(STORE));
    } catch {
      return;
    }
    if (!saved || !Array.isArray(saved.turns)) return;
    for (const kept of saved.turns) {
      const turn = { ...newTurn(kept.question), ...kept };
      state.turns.push(turn);
      drawReply(addTurn(turn), turn);
    }
    if (saved.open) setOpen(true, false);
    keepInSight();
  }

  // --- drawing -----------------------------------------------------------------------------

  // What is said in small talk and to clarify a request has no caption.
  const MODES = {
    extractive: "Quoted from the book, word for word:",
    generated: "Written by a language model from the book:",
    refused: "Not answered from the book:",
  };
  const NEAREST = { refused: "Nearest sections", clarification: "Chapters" };

  // An uncertain answer made of passages begins with a notice in the reader's language.
  function labelOf(turn) {
    if (turn.confidence !== "uncertain") return MODES[turn.mode] || "";
    if (turn.mode === "generated") return "Perhaps not what the book says; by a language model:";
    return turn.answer.split("\n\n", 1)[0];
  }

  function spoken(turn) {
    const noticed = turn.confidence === "uncertain" && turn.mode !== "generated";
    return noticed ? turn.answer : `${labelOf(turn)} ${turn.answer}`;
  }

  function addTurn(turn) {
    hint.remove();
    for (const old of log.querySelectorAll(".tbr-follow-ups")) old.remove();
    const reply = make("div", "tbr-reply");
    state.anchor = make("p", "tbr-question", turn.question);
    log.append(state.anchor, reply);
    return reply;
  }

  function keepInSight() {
    if (!state.anchor) return;
    const above = state.anchor.getBoundingClientRect().top - log.getBoundingClientRect().top;
    log.scrollTop += above - 12;
  }

  function drawReply(reply, turn) {
    reply.classList.toggle("tbr-pending", !turn.done);
    reply.classList.toggle("tbr-uncertain", turn.confidence === "uncertain");
    const parts = [];
    if (labelOf(turn)) parts.push(make("p", "tbr-mode", labelOf(turn)));
    if (turn.searchedFor) parts.push(make("p", "tbr-mode", `Searched for: ${turn.searchedFor}`));
    if (turn.sources.length && !turn.answer) parts.push(drawReading(turn));
    parts.push(turn.passages.length ? drawPassages(turn.passages) : drawAnswer(turn));
    if (unsupported(turn).length) {
      parts.push(make("p", "tbr-mode", "Dotted: no paragraph was found that says this."));
    }
    if (turn.degraded && turn.degraded.length) {
      parts.push(make("p", "tbr-mode", `Done without: ${turn.degraded.join(", ")}.`));
    }
    if (turn.error) parts.push(make("p", "tbr-error", turn.error));
    if (turn.citations.length && !turn.passages.length) parts.push(...drawCitations(turn));
    const elsewhere = NEAREST[turn.mode];
    if (elsewhere && turn.sources.length) parts.push(...drawNearest(turn, elsewhere));
    if (turn === state.turns.at(-1) && turn.followUps.length) parts.push(drawFollowUps(turn));
    reply.replaceChildren(...parts);
    keepInSight();
  }

  // Offsets of the API are code points; a string of this language counts UTF-16 units.
  function drawAnswer(turn) {
    const answer = make("div", "tbr-answer");
    const points = Array.from(turn.answer);
    const due = [...turn.citations].sort((a, b) => a.end - b.end);
    const doubtful = unsupported(turn);
    const append = (start, end) => answer.append(...textNodes(points, start, end, doubtful));
    for (const part of answerParts(points)) {
      if (part.code !== undefined) {
        const block = make("pre", "tbr-code");
        block.tabIndex = 0;
        block.append(make("code", "", part.code));
        answer.append(block);
      }
      let position = part.start;
      while (due.length && due[0].end <= part.end) {
        const citation = due.shift();
        if (part.code === undefined) {
          append(position, citation.end);
          position = citation.end;
        }
        answer.append(citationMark(citation));
      }
      if (part.code === undefined) append(position, part.end);
    }
    return answer;
  }

  // Whole blocks of the book under the headings they stand under, what answers highlighted.
  function drawPassages(passages) {
    const answer = make("div", "tbr-answer");
    answer.append(...passages.map(drawPassage));
    return answer;
  }

  function drawPassage(passage) {
    const box = make("div", "tbr-passage");
    const [, id] = /^\/cite\/([^?]*)/.exec(passage.permalink);
    const source = { url: passage.url, paragraph_id: decodeURIComponent(id) };
    box.append(link(source, "tbr-section", passage.heading_path.join(" › ")));
    const points = Array.from(passage.text);
    for (const part of answerParts(points)) {
      if (part.code === undefined) {
        box.append(...markedNodes(points, part.start, part.end, passage.marks));
      } else {
        const block = make("pre", "tbr-code");
        block.tabIndex = 0;
        block.append(make("code", "", part.code));
        box.append(block);
      }
    }
    return box;
  }

  function markedNodes(points, start, end, marks) {
    const nodes = [];
    let position = start;
    for (const [first, last] of marks) {
      const from = Math.max(first, position);
      const to = Math.min(last, end);
      if (from >= to) continue;
      nodes.push(points.slice(position, from).join(""));
      nodes.push(make("mark", "tbr-mark", points.slice(from, to).join("")));
      position = to;
    }
    nodes.push(points.slice(position, end).join(""));
    return nodes;
  }

  // The sentences that no verified citation supports, known at the answer's end.
  function unsupported(turn) {
    return turn.statements.filter((statement) => !statement.supported);
  }

  // The text [start, end) as nodes, with what is doubtful of it marked.
  function textNodes(points, start, end, doubtful) {
    const nodes = [];
    let position = start;
    for (const range of doubtful) {
      const from = Math.max(range.start, position);
      const to = Math.min(range.end, end);
      if (from >= to) continue;
      nodes.push(points.slice(position, from).join(""));
      nodes.push(make("span", "tbr-unsupported", points.slice(from, to).join("")));
      position = to;
    }
    nodes.push(points.slice(position, end).join(""));
    return nodes;
  }

  function drawReading(turn) {
    const titles = [...new Set(turn.sources.map((source) => source.title))];
    const more = titles.length > 3 ? " …" : "";
    return make("p", "tbr-mode", `Reading: ${titles.slice(0, 3).join(", ")}${more}`);
  }

  function citationMark(citation) {
    const mark = link(citation, "tbr-ref", `[${citation.index}]`);
    mark.setAttribute("aria-label", `Source ${citation.index}: ${citation.title}`);
    return mark;
  }

  // The answer in parts [start, end): text, and fenced code blocks with their `code`.
  function answerParts(points) {
    const parts = [];
    let start = 0; // of the text that is not in a part yet
    let open = null; // the fence that is open: {start, marks, code}
    let position = 0;
    for (const line of points.join("").split(/(?<=\n)/)) {
      const next = position + Array.from(line).length;
      const fence = /^(`{3,})[^`]*$/.exec(line.trimEnd());
      if (!open && fence) {
        if (position > start) parts.push({ start, end: position });
        open = { start: position, marks: fence[1], code: "" };
      } else if (open && line.trimEnd() === open.marks) {
        parts.push({ start: open.start, end: next, code: open.code });
        open = null;
        start = next;
      } else if (open) {
        open.code += line;
      }
      position = next;
    }
    if (open) parts.push({ start: open.start, end: position, code: open.code });
    else if (position > start || !parts.length) parts.push({ start, end: position });
    return parts;
  }

  function drawCitations(turn) {
    const list = make("ol", "tbr-citations");
    const byIndex = new Map();
    for (const citation of turn.citations) {
      if (!byIndex.has(citation.index)) byIndex.set(citation.index, citation);
    }
    for (const citation of [...byIndex.values()].sort((a, b) => a.index - b.index)) {
      const entry = link(citation, "", undefined);
      entry.append(
        make("span", "tbr-section", `[${citation.index}] ${citation.title}`),
        make("span", "tbr-quote", `“${citation.quote}”`),
      );
      const item = make("li");
      item.append(entry);
      list.append(item);
    }
    return [make("p", "tbr-list-title", "Sources"), list];
  }

  function drawNearest(turn, title) {
    const list = make("ul", "tbr-citations");
    for (const source of turn.sources) {
      const entry = link({ url: source.url, paragraph_id: source.paragraph_id }, "", undefined);
      entry.append(
        make("span", "tbr-section", source.title),
        make("span", "tbr-quote", source.heading_path.join(" › ")),
      );
      const item = make("li");
      item.append(entry);
      list.append(item);
    }
    return [make("p", "tbr-list-title", title), list];
  }

  function drawFollowUps(turn) {
    const box = make("div", "tbr-follow-ups");
    box.append(make("p", "tbr-list-title", "Ask next"));
    for (const question of turn.followUps) {
      const button = make("button", "tbr-follow-up", question);
      button.type = "button";
      button.addEventListener("click", () => {
        if (state.running) return;
        log.focus(); // the button goes
        ask(question);
      });
      box.append(button);
    }
    return box;
  }

  // --- asking ------------------------------------------------------------------------------

  function history() {
    const turns = state.turns.filter((turn) => turn.done && turn.answer && !turn.error);
    return turns.slice(-HISTORY_QUESTIONS).flatMap((turn) => [
      { role: "user", content: turn.question },
      { role: "assistant", content: turn.answer.slice(0, MAX_QUESTION) },
    ]);
  }

  async function ask(question) {
    if (!question) return;
    const page = `${location.origin}${location.pathname}`;
    const body = { question, history: history(), page_url: page, stream: true };
    if (config.book) body.book = config.book;
    const turn = newTurn(question);
    state.turns.push(turn);
    const reply = addTurn(turn);
    input.value = "";
    state.running = new AbortController();
    send.textContent = "Stop";
    status.textContent = "Searching…";
    drawReply(reply, turn);
    try {
      await stream(body, state.running.signal, (event, data) => {
        apply(turn, event, data);
        drawReply(reply, turn);
      });
    } catch (error) {
      turn.error = error.name === "AbortError" ? "Stopped." : error.message;
    }
    turn.done = true;
    state.running = null;
    send.textContent = "Ask";
    drawReply(reply, turn);
    status.textContent = turn.error || spoken(turn).trim();
    save();
  }

  function newTurn(question) {
    const lists = { citations: [], passages: [], sources: [], statements: [] };
    const empty = { answer: "", mode: "", confidence: "", ...lists };
    return { question, ...empty, followUps: [], done: false };
  }

  function apply(turn, event, data) {
    if (event === "start") {
      Object.assign(turn, newTurn(turn.question), {
        mode: data.mode,
        confidence: data.confidence,
      });
    } else if (event === "sources") {
      turn.sources = data.sources;
    } else if (event === "delta") {
      turn.answer += data.text;
    } else if (event === "citation") {
      turn.citations.push(data);
    } else if (event === "end") {
      Object.assign(turn, {
        answer: data.answer,
        mode: data.mode,
        citations: data.citations,
        confidence: data.confidence,
        passages: data.passages,
        sources: data.sources,
        degraded: data.degraded,
        statements: data.statements,
        followUps: data.follow_ups,
        searchedFor: data.searched_for,
        done: true,
      });
    } else if (event === "error") {
      turn.error = data.message;
    }
  }

  class Refusal extends Error {} // the server's own word: asking again would not help

  // Hand over the answer's events; when the connection breaks, go on after the last that came.
  async function stream(body, signal, onEvent) {
    let lastId = "";
    let failures = 0;
    for (;;) {
      let ended = false;
      try {
        await streamOnce(body, signal, lastId, (event, data, id) => {
          lastId = id;
          failures = 0;
          ended = event === "end" || event === "error";
          onEvent(event, data);
        });
      } catch (error) {
        if (error.name === "AbortError" || error instanceof Refusal) throw error;
      }
      if (ended) return;
      if (!lastId) throw new Error("The server cannot be reached.");
      if (failures === RETRIES) throw new Error("The connection broke off. Please ask again.");
      await pause(1000 * 2 ** failures, signal);
      failures += 1;
    }
  }

  async function streamOnce(body, signal, lastId, onEvent) {
    const headers = { "Content-Type": "application/json", Accept: "text/event-stream" };
    if (lastId) headers["Last-Event-ID"] = lastId;
    const response = await fetch(`${config.api}/v1/chat`, {
      method: "POST",
      headers,
      body: JSON.stringify(body),
      signal,
    });
    if (!response.ok) throw new Refusal(await problemText(response));
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let buffer = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      buffer += value;
      const blocks = buffer.split("\n\n");
      buffer = blocks.pop();
      for (const block of blocks) dispatch(block, onEvent);
    }
  }

  function dispatch(block, onEvent) {
    const fields = {};
    for (const line of block.split("\n")) {
      const found = /^(event|id|data): (.*)$/.exec(line);
      if (found) fields[found[1]] = found[2];
    }
    if (fields.data) onEvent(fields.event, JSON.parse(fields.data), fields.id);
  }

  function pause(milliseconds, signal) {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(resolve, milliseconds);
      signal.addEventListener("abort", () => {
        clearTimeout(timer);
        reject(signal.reason);
      });
    });
  }

  async function problemText(response) {
    try {
      return (await response.json()).detail || `Error ${response.status}.`;
    } catch {
      return `Error ${response.status}.`;
    }
  }

  build();
  restore();
  openCitedParagraph();
})();
