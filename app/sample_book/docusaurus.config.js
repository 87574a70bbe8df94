import remarkMath from 'remark-math';
import rehypeKatex from 'rehype-katex';

export default {
  title: 'A Small Book of Search',
  tagline: 'Information retrieval and retrieval-augmented answering, told for students',
  url: 'http://127.0.0.1:8000',
  baseUrl: '/',
  onBrokenLinks: 'warn',
  clientModules: [require.resolve('katex/dist/katex.min.css')],
  i18n: {defaultLocale: 'en', locales: ['en']},
  presets: [
    [
      'classic',
      {
        docs: {
          routeBasePath: 'docs',
          sidebarPath: './sidebars.js',
          remarkPlugins: [remarkMath],
          rehypePlugins: [rehypeKatex],
        },
        blog: false,
      },
    ],
  ],
  themeConfig: {
    navbar: {
      title: 'A Small Book of Search',
      items: [{type: 'docSidebar', sidebarId: 'docs', label: 'Book', position: 'left'}],
    },
  },
};
