"""SQLite files: the ledgers of paragraph ids, the cache of embeddings."""
