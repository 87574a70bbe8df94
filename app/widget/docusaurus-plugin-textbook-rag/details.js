// Shows what a link leads to, also in tabs and details. Details stay open that the browser opens for a link or for
// its own search: Docusaurus keeps a state of its own, with which it hides their content again as soon as its script
// has reached them.
const TRIES = 50; // of 100 ms
const TARGET_TRIES = 10;

function agree(tries) {
  for (const details of document.querySelectorAll('details[open][data-collapsed="true"]')) {
    const hidden = Array.from(details.children).some(({style}) => style.display === 'none');
    if (hidden) details.querySelector('summary')?.click();
  }
  if (tries > 0) setTimeout(agree, 100, tries - 1);
}

// Opens the tabs that hide the target of the address, which the browser does not do, and goes there again:
// Docusaurus renders tabs anew once its script has reached them, and the browser forgets their target.
function goToTarget(tries) {
  restoreIds();
  const target = targetOf(location.hash);
  if (!target && tries > 0) setTimeout(goToTarget, 100, tries - 1); // it may have lost its id
  if (!target) return;
  const hidden = (element) => element?.closest('[role=tabpanel][hidden]');
  for (let panel = hidden(target); panel; panel = hidden(panel.parentElement)) {
    const panels = Array.from(panel.parentElement.children).filter((each) => each.getAttribute('role') === 'tabpanel');
    const list = panel.parentElement.parentElement?.querySelector('[role=tablist]');
    list?.querySelectorAll('[role=tab]')[panels.indexOf(panel)]?.click();
  }
  const anew = target.closest('[role=tabpanel]') || restored.has(target.id);
  if (anew && !target.matches(':target')) location.replace(location.hash);
  if (tries > 0) setTimeout(goToTarget, 100, tries - 1);
}

// `textbook-rag stamp` writes paragraphs' ids into the built pages; code blocks and tabs lose theirs when Docusaurus
// renders them anew.
const opened = typeof document === 'undefined' ? '' : location.pathname;
const stamped = opened
  ? Array.from(document.querySelectorAll('[id^="p-"]'), ({id, tagName, textContent}) => [id, tagName, textContent])
  : [];
const restored = new Set();

function restoreIds() {
  if (location.pathname !== opened) return;
  for (const [id, tag, text] of stamped) {
    if (document.getElementById(id)) continue;
    const same = (each) => !each.id && each.textContent === text;
    const element = Array.from(document.getElementsByTagName(tag)).find(same);
    if (!element) continue;
    element.id = id;
    restored.add(id);
  }
}

function targetOf(hash) {
  try {
    return document.getElementById(decodeURIComponent(hash.slice(1)));
  } catch {
    return null; // not an encoded id
  }
}

if (typeof document !== 'undefined') {
  document.addEventListener('toggle', ({target}) => target.open && agree(TRIES), true);
}

export function onRouteDidUpdate() {
  agree(TRIES);
  goToTarget(TARGET_TRIES);
}
