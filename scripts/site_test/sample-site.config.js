// The sample book's Docusaurus site as `scripts/site-test` builds it: with the widget, by the plugin, and
// with the source lines that its landings are judged by.
import remarkMath from 'remark-math';
import rehypeKatex from 'rehype-katex';
import {createRequire} from 'node:module';
import truth from './truth.cjs';

const {SITE_TEST_SERVER: server, SITE_TEST_PLUGIN: plugin} = process.env;
const require = createRequire(import.meta.url);
const docs = {
  beforeDefaultRemarkPlugins: [truth],
  remarkPlugins: [remarkMath],
  rehypePlugins: [rehypeKatex],
};

export default {
  title: 'A Small Book of Search',
  url: server,
  baseUrl: '/',
  onBrokenLinks: 'warn',
  clientModules: [require.resolve('katex/dist/katex.min.css')],
  presets: [['classic', {docs, blog: false}]],
  plugins: [[plugin, {server, book: 'sample-docusaurus'}]],
};
