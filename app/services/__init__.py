"""Use cases. They import only the domain; everything outside the process is behind `ports`.

- ingest: `ingest`, `ingest_plan`, `chunk_vectors`, `phases`
- search: `analyse_question`, `lexical`, `similarity`, `vocabulary`, `retrieve`, `feature_reranker`
- answers: `answer_question`, `consultation`, `page_locator`, `answerability_scorer`,
  `chapter_requests`, `write_answer`, `show_figures`
- parts of a book: `paragraphs`, `page_glossary`, `page_suggestions`
- calls to providers: `provider_calls`, `budget`, `resilience`
- questions that readers asked: `question_log`
- upkeep: `check_links`
- measuring: `evaluate`
- used by several: `book_cache`, `book_scope`, `recording`, `safe_paths`, `threads`
"""
