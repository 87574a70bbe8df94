// The sample book's Docusaurus site as `scripts/site-test` builds it: with the widget, by the plugin, and
// with the source lines that its landings are judged by.
import config from './docusaurus.config.js';
import truth from './truth.cjs';

const {SITE_TEST_SERVER: server, SITE_TEST_PLUGIN: plugin} = process.env;
const [[preset, options]] = config.presets;

export default {
  ...config,
  url: server,
  presets: [[preset, {...options, docs: {...options.docs, beforeDefaultRemarkPlugins: [truth]}}]],
  plugins: [[plugin, {server, book: 'small-book-of-search'}]],
};
