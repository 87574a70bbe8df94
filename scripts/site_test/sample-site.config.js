// The sample book's Docusaurus site as `scripts/site-test` builds it: with the widget, by the plugin, and
// with the source lines that its landings are judged by.
import config from './docusaurus.config.js';
import {createRequire} from 'node:module';
import truth from './truth.cjs';

const {SITE_TEST_SERVER: server, SITE_TEST_PLUGIN: plugin, SITE_TEST_IDS} = process.env;
const [[preset, options]] = config.presets;
const require = createRequire(import.meta.url);
const ids = () => [require(`${plugin}/paragraph-ids`), {blocks: require.resolve('./blocks.jsonl')}];
const plugins = SITE_TEST_IDS ? [ids(), truth] : [truth];

export default {
  ...config,
  url: server,
  presets: [[preset, {...options, docs: {...options.docs, beforeDefaultRemarkPlugins: plugins}}]],
  plugins: [[plugin, {server, book: 'small-book-of-search'}]],
};
