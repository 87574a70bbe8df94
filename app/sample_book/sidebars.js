module.exports = {
  docs: [
    'index',
    {
      type: 'category',
      label: 'Part I: Finding words',
      items: [
        'why-search',
        'documents-and-tokens',
        {
          type: 'category',
          label: '3. The inverted index',
          link: {type: 'doc', id: 'inverted-index/index'},
          items: [
            'inverted-index/building',
            'inverted-index/compression',
          ],
        },
        'ranking-bm25',
        'evaluation',
      ],
    },
    {
      type: 'category',
      label: 'Part II: Finding meaning',
      items: ['dense-vectors', 'hybrid-search', 'chunking'],
    },
    {
      type: 'category',
      label: 'Part III: Answering',
      items: ['answering', 'running'],
    },
    {
      type: 'category',
      label: 'Back matter',
      items: ['solutions', 'glossary', 'bibliography'],
    },
  ],
};
