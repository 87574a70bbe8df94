"""The parser that all Markdown dialects share: blocks, inline mark-up, source spans.

- a file: `file_reader`, `dialect`, `page_includes`, `hidden_text`, `prompt_injections`
- markdown-it's rules: `block_rules`, `block_dispatch`, `fenced_containers`, `inline_rules`,
  `inline_dispatch`, `tags`
- from its tokens to drafts of blocks: `drafts`, `blocks`, `leaf_blocks`, `html_blocks`,
  `containers`, `container_kinds`, `sections`, `anchors`
- the text of a block: `inline`, `quick_inline`, `running_text`
"""
