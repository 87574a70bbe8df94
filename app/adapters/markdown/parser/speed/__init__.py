"""What exists for speed alone: without this package every book would read the same, later.

What each module saves, and the test that proves it equal:

- `quick_inline` reads the usual inline mark-up of a paragraph without markdown-it's inline parser:
  `tests/unit/test_quick_inline.py` compares the two on every dialect, over generated text.
- `inline_dispatch` asks only those of markdown-it's inline rules that a character may begin, and
  finds a link's target by searching: `tests/unit/test_quick_inline.py` compares the tokens.
- `block_dispatch` asks only those of its block rules that a line may begin, and makes a paragraph
  one token; it also hands on a long file's tokens by sections: `tests/unit/test_block_rules.py`.
- `line_index` finds a file's lines by fewer calls than `StateBlock`:
  `tests/unit/test_quick_inline.py`.

`scripts/bench/parse.py BOOK` measures the speed of reading a book.
"""
