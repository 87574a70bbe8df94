// The development book redux-docs as `scripts/site-test` builds it: below `/redux/`, with the widget.
const site = require('./website/site.json');
const truth = require('./truth.cjs');

const {SITE_TEST_SERVER: server, SITE_TEST_PLUGIN: plugin} = process.env;
const docs = {
  path: 'docs',
  routeBasePath: site.docs.routeBasePath,
  sidebarPath: require.resolve('./website/sidebars.json'),
  beforeDefaultRemarkPlugins: [truth],
};

module.exports = {
  title: 'Redux',
  url: server,
  baseUrl: '/redux/',
  onBrokenLinks: 'ignore',
  onBrokenAnchors: 'ignore',
  // The book's folder has no pictures.
  markdown: {hooks: {onBrokenMarkdownLinks: 'ignore', onBrokenMarkdownImages: 'ignore'}},
  presets: [['classic', {docs, blog: false, pages: false}]],
  plugins: [[plugin, {server, book: 'redux-docs'}]],
};
