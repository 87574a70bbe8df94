"""Optimisations only: without this package every book parses to the same result, more slowly.

Each module, and the test that proves its results equal:

- `quick_inline` reads the usual inline mark-up of a paragraph without markdown-it's inline parser.
  `tests/unit/test_quick_inline.py` compares the two on generated text in every dialect.
- `inline_dispatch` tries only the inline rules that the current character allows, and finds link
  targets by searching. `tests/unit/test_quick_inline.py` compares the tokens.
- `block_dispatch` tries only the block rules that a line's first character allows, makes one token
  of a paragraph, and hands out a long file's tokens in sections (`tests/unit/test_block_rules.py`).
  It also indexes a file's lines with fewer calls than `StateBlock`
  (`tests/unit/test_quick_inline.py`).

`scripts/bench/parse.py BOOK` measures the speed of reading a book.
"""
