// Details stay open that the browser opens for a link or for its own search: Docusaurus keeps a state of its own,
// which hides them again.
const agree = (details) => {
  if (details.open && details.dataset.collapsed === 'true') details.querySelector('summary')?.click();
};

if (typeof document !== 'undefined') {
  document.addEventListener('toggle', ({target}) => target.localName === 'details' && agree(target), true);
}

// What was opened before the page's own script ran.
export function onRouteDidUpdate() {
  setTimeout(() => document.querySelectorAll('details[open]').forEach(agree));
}
