"""SQLite files: ledgers of paragraph ids, the embedding cache, API keys, spending."""
