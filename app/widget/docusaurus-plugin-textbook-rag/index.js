// Docusaurus plugin: the widget's tag on every page; details stay open for links into them.
const NAME = 'docusaurus-plugin-textbook-rag';
const ATTRIBUTES = {
  book: 'data-book',
  key: 'data-key',
  baseUrl: 'data-base-url',
  label: 'data-label',
  logo: 'data-logo',
  language: 'data-language',
  theme: 'data-theme',
  side: 'data-side',
  shortcut: 'data-shortcut',
};

module.exports = function textbookRag({siteConfig}, options) {
  const named = {baseUrl: siteConfig.url + siteConfig.baseUrl, ...options};
  const attributes = {src: `${options.server.replace(/\/+$/, '')}/widget.js`, defer: true};
  for (const [option, attribute] of Object.entries(ATTRIBUTES)) {
    if (named[option]) attributes[attribute] = named[option];
  }
  return {
    name: NAME,
    getClientModules: () => [require.resolve('./details.js'), require.resolve('./ids.css')],
    injectHtmlTags: () => ({headTags: [{tagName: 'script', attributes}]}),
  };
};

module.exports.validateOptions = ({options}) => {
  const {id, ...own} = options;
  for (const [option, value] of Object.entries(own)) {
    if (option !== 'server' && !(option in ATTRIBUTES)) throw new Error(`${NAME}: unknown option "${option}"`);
    if (typeof value !== 'string') throw new Error(`${NAME}: option "${option}" must be a string`);
  }
  if (!/^https?:\/\/[^/]/.test(own.server ?? '')) {
    throw new Error(`${NAME}: option "server" must be an address such as https://ask.example.org`);
  }
  return options;
};
