// remark plugin: gives each paragraph, list, listing, table, formula, quote and admonition the id that textbook-rag
// gives it, `p-` and ten base-32 digits of the SHA-256 of its letters and digits, so that `#p-...` leads to it
// without a script.
//
// It belongs among `beforeDefaultRemarkPlugins`: it needs the text as its author wrote it. What has an id already
// keeps that one. Of a text that is repeated, the second block is `p-...-2` and so on, counted through the whole book
// by the program: its list of blocks says which number a page's block has (option `blocks`). Without the list
// only the first block of each page gets an id.
const {createHash} = require('crypto');
const {readFileSync} = require('fs');
const {dirname, relative, sep} = require('path');

const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz';
const UNREAD = new Set([
  'definition', 'footnoteReference', 'html', 'image', 'imageReference', 'inlineMath', 'mdxFlowExpression', 'mdxTextExpression',
  'mdxjsEsm', 'math', 'toml', 'yaml',
]);
const WHOLE = new Set(['blockquote', 'code', 'containerDirective', 'list', 'math', 'paragraph', 'table']);
// Lines that only say what is highlighted; the page does not show them.
const HIGHLIGHT = /^\s*(?:\/\/|#|--|%|;|\{?\/\*|<!--)\s*(?:highlight-next-line|highlight-start|highlight-end|prettier-ignore)/;

/** Return the letters and digits of a text, in lower case and NFKC. */
const letters = (text) => text.normalize('NFKC').toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '');

/** Return the id of a paragraph with this text; "" if it has no letter or digit. */
function paragraphId(text) {
  const key = letters(text);
  if (!key) return '';
  let bits = createHash('sha256').update(key, 'utf8').digest().readBigUInt64BE() >> 14n;
  let id = '';
  for (let digit = 0; digit < 10; digit++, bits >>= 5n) id = DIGITS[Number(bits & 31n)] + id;
  return `p-${id}`;
}

/** Return the text that a block's id is made from: that of its formulas or pictures if it has no other. */
function idText(node) {
  const text = textOf(node);
  if (letters(text)) return text;
  return node.type === 'math' ? node.value : pictures(node);
}

/** Return what a reader sees of a node, without formulas, pictures and expressions. */
function textOf(node) {
  if (UNREAD.has(node.type)) return '';
  if (node.type === 'code' && node.value.includes('highlight-')) {
    return node.value.split('\n').filter((line) => !HIGHLIGHT.test(line)).join('\n');
  }
  if (typeof node.value === 'string') return node.value;
  return titleOf(node) + (node.children ?? []).map(textOf).join('');
}

/** Return the title that a component shows. */
function titleOf(node) {
  const title = (node.attributes?.length ? node.attributes : []).find(({name}) => name === 'title');
  return /^[A-Z]/.test(node.name ?? '') && typeof title?.value === 'string' ? title.value : '';
}

function pictures(node) {
  if (node.type === 'image') return [node.alt, node.title].join(' ');
  return (node.children ?? []).map(pictures).join(' ');
}

/** Put the id on the node's element; return what replaces the node. */
function identified(node, id) {
  const attribute = {type: 'mdxJsxAttribute', name: 'id', value: id};
  if (node.type === 'code' || node.type === 'math') {
    // Their properties do not reach the page.
    return {type: 'mdxJsxFlowElement', name: 'div', attributes: [attribute], children: [node], data: {_mdxExplicitJsx: true}};
  }
  if (node.type === 'mdxJsxFlowElement') {
    if (!node.attributes.some(({name}) => name === 'id')) node.attributes.push(attribute);
  } else if (node.type === 'containerDirective') {
    node.attributes = {id, ...node.attributes};
  } else {
    node.data ??= {};
    node.data.hProperties = {id, ...node.data.hProperties};
  }
  return node;
}

/** Call `take(parent, index)` for each block, in reading order; `inner` for what may be a block inside it. */
function blocks(parent, take, inner) {
  (parent.children ?? []).forEach((node, index) => {
    // An admonition with headings has sections of its own.
    const sections = node.type === 'containerDirective' && node.children.some(({type}) => type === 'heading');
    const whole = WHOLE.has(node.type) && !sections;
    if (whole) take(parent, index);
    else if (node.name === 'details') inner(parent, index);
    if (node.type === 'list') node.children.forEach((_, item) => inner(node, item));
    if (!whole) blocks(node, take, inner);
  });
}

/**
 * Put the ids on sections that are one paragraph for the program, such as a glossary's entries or exercises: on the
 * first node below their heading.
 */
function identifySections(root, file, listed) {
  root.children.forEach((heading, index) => {
    if (heading.type !== 'heading') return;
    const next = root.children.findIndex(({type}, at) => at > index && type === 'heading');
    const nodes = root.children.slice(index + 1, next < 0 ? undefined : next);
    const id = nodes.length > 1 ? paragraphId(nodes.map(textOf).join('')) : '';
    const [own] = listed.get(`${file}#${id}`) ?? [];
    if (own) root.children[index + 1] = identified(nodes[0], own);
  });
}

/** Read the output of `textbook-rag blocks BOOK_DIR`: the ids of each text's blocks on a page, in order. */
function listedIds(list) {
  const ids = new Map();
  for (const line of readFileSync(list, 'utf8').split('\n')) {
    const {file, kind, paragraph_id: id} = line.startsWith('{') ? JSON.parse(line) : {};
    if (!id || kind === 'heading') continue;
    const key = `${file}#${id.replace(/^(p-.{10})-\d+$/, '$1')}`;
    ids.set(key, [...(ids.get(key) ?? []), id]);
  }
  return ids;
}

/** Options: `blocks`, a file in the book's folder with the output of `textbook-rag blocks BOOK_DIR`. */
module.exports = function paragraphIds({blocks: list} = {}) {
  const listed = list ? listedIds(list) : new Map();
  return (root, page) => {
    const file = list && page.path ? relative(dirname(list), page.path).split(sep).join('/') : '';
    identifySections(root, file, listed);
    const places = new Map();
    const collect = (known) => (parent, index) => {
      const id = paragraphId(idText(parent.children[index]));
      if (id && !known.has(id)) places.set(id, [...(places.get(id) ?? []), [parent, index]]);
    };
    blocks(root, collect(new Map()), () => {});
    blocks(root, () => {}, collect(new Map(places)));
    for (const [id, twins] of places) {
      const ids = listed.get(`${file}#${id}`) ?? [id];
      twins.slice(0, ids.length).forEach(([parent, index], twin) => {
        parent.children[index] = identified(parent.children[index], ids[twin]);
      });
    }
  };
};
module.exports.blocks = blocks;
module.exports.idText = idText;
module.exports.paragraphId = paragraphId;
