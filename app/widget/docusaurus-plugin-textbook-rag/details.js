// Details stay open that the browser opens for a link or for its own search: Docusaurus keeps a state of its own,
// with which it hides their content again as soon as its script has reached them.
const TRIES = 50; // of 100 ms

function agree(tries) {
  for (const details of document.querySelectorAll('details[open][data-collapsed="true"]')) {
    const hidden = Array.from(details.children).some(({style}) => style.display === 'none');
    if (hidden) details.querySelector('summary')?.click();
  }
  if (tries > 0) setTimeout(agree, 100, tries - 1);
}

if (typeof document !== 'undefined') {
  document.addEventListener('toggle', ({target}) => target.open && agree(TRIES), true);
}

export function onRouteDidUpdate() {
  agree(TRIES);
}
