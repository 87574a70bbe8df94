"""Pure domain: standard library only, no I/O, clock, environment or framework.

- a book: `document`, `book_id`, `edition`, `indexed_book`, `reading_budget`,
  `glossary`, `page_markdown`
- ids of paragraphs: `identity`, `ledger`, `ledger_matching`
- links to paragraphs: `page_links`, `links`, `urls`
- chunks: `chunking`; search: `retrieval`, `search_text`
- answers: `answer`, `answering`, `definitions`, `prompts`, `generated_text`
- words and texts: `terms`, `scripts`, `languages`, `english`,
  `fences_and_tables`, `characters`
- the question log: `logged_answer`, `owner_report`, `personal_data`
- `evaluation`; `errors`; `cost`; `site_key`
"""
