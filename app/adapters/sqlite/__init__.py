"""SQLite files: ledgers of paragraph ids, the cache of vectors, keys, question log, spending."""
