// A book with two versions and two locales, with tabs and details, as `scripts/site-test` builds it.
const {SITE_TEST_SERVER: server, SITE_TEST_PLUGIN: plugin} = process.env;

export default {
  title: 'Lamps',
  url: 'http://127.0.0.1:8793',
  baseUrl: '/',
  onBrokenLinks: 'ignore',
  i18n: {defaultLocale: 'en', locales: ['en', 'de']},
  presets: [['classic', {docs: {routeBasePath: 'docs'}, blog: false, pages: false}]],
  plugins: [[plugin, {server, book: 'lamps'}]],
};
