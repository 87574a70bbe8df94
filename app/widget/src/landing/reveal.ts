// Open whatever hides an element: details, tabs, what a button opens, `hidden="until-found"`.

/** Return whether anything had to be opened. */
export function reveal(element: Element): boolean {
  let opened = false;
  for (let each: Element | null = element; each && each !== document.body; each = each.parentElement) {
    opened = openDetails(each) || openTabPanel(each) || openRadioTab(each) || openDisclosure(each) || openUntilFound(each) || opened;
  }
  return opened;
}

function openDetails(element: Element): boolean {
  if (!(element instanceof HTMLDetailsElement)) return false;
  // Docusaurus keeps its own state, which only a click on the summary changes.
  if (element.dataset.collapsed === "true") {
    element.querySelector("summary")?.click();
    return true;
  }
  if (element.open) return false;
  element.open = true;
  return true;
}

function openTabPanel(element: Element): boolean {
  if (element.getAttribute("role") !== "tabpanel" || !(element as HTMLElement).hidden) return false;
  const panels = [...(element.parentElement?.children ?? [])].filter((each) => each.getAttribute("role") === "tabpanel");
  const labelled = element.getAttribute("aria-labelledby");
  const list = element.parentElement?.parentElement?.querySelector("[role=tablist]") ?? element.parentElement?.querySelector("[role=tablist]");
  const tab = (labelled && document.getElementById(labelled)) || list?.querySelectorAll<HTMLElement>("[role=tab]")[panels.indexOf(element)];
  tab?.click();
  return Boolean(tab);
}

/** Tabs of MkDocs Material (`.tabbed-set`), VitePress (`.vp-code-group`) and sphinx-design (`.sd-tab-set`) are radio buttons. */
function openRadioTab(element: Element): boolean {
  let input: Element | null | undefined;
  if (element.matches(".tabbed-block, .vp-code-group > .blocks > *")) {
    const index = [...(element.parentElement?.children ?? [])].indexOf(element);
    input = element.closest(".tabbed-set, .vp-code-group")?.querySelectorAll(":scope > input, :scope > .tabs > input")[index];
  } else if (element.matches(".sd-tab-content")) {
    input = element.previousElementSibling?.previousElementSibling;
  }
  if (!(input instanceof HTMLInputElement) || input.checked) return false;
  input.click();
  return true;
}

/** What a button or tab names as its own and a class hides, as in Bootstrap: call-outs of Quarto, solutions of the Carpentries. */
function openDisclosure(element: Element): boolean {
  if (!element.id || element.getClientRects().length > 0) return false;
  const control = `[aria-controls~="${CSS.escape(element.id)}"]:is([aria-expanded=false], [aria-selected=false])`;
  const found = document.querySelector<HTMLElement>(control);
  found?.click();
  return Boolean(found);
}

function openUntilFound(element: Element): boolean {
  if (element.getAttribute("hidden") !== "until-found") return false;
  element.removeAttribute("hidden");
  return true;
}
