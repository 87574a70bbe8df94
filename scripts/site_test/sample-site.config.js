// The sample book's Docusaurus site as `scripts/site-test` builds it: with the widget, by the plugin.
import remarkMath from 'remark-math';
import rehypeKatex from 'rehype-katex';
import {createRequire} from 'node:module';

const {SITE_TEST_SERVER: server, SITE_TEST_PLUGIN: plugin} = process.env;
const require = createRequire(import.meta.url);
const docs = {
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
