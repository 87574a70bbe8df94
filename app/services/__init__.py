"""Use cases. They import only the domain; everything outside the process is behind `ports`.

- ingest: `ingest`, `ingest_plan`, `chunk_vectors`, `phases`
- search: `analyse_question`, `lexical`, `similarity`, `vocabulary`, `retrieve`
- answers: `answer_question`, `consultation`, `chapter_requests`, `write_answer`, `show_figures`
- parts of a book: `page_locator`, `paragraphs`, `page_glossary`, `page_suggestions`
- calls to providers: `provider_calls`, `resilience`, `budget`
- questions that readers asked: `question_log`
- measuring: `evaluate`
- used by several: `book_scope`, `recording`, `safe_paths`, `threads`
"""
