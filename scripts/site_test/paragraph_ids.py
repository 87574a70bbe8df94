"""Count the blocks of a book whose paragraph id is that of an element of the built site.

    python scripts/site_test/paragraph_ids.py SITE_FOLDER BOOK_FOLDER [--base-url URL]

SITE_FOLDER is a build with the remark plugin `paragraph-ids`. Prints a table by kind of block; exit
code 1 if fewer than SHARE of those without a repeated text have their id.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections import Counter
from pathlib import Path

from app.adapters.built_site import FolderSite

from app.bootstrap.books import read_source
from app.domain.document import BlockKind
from app.domain.identity import norm
from app.services.ingest import IngestRequest


async def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--base-url", default="")
    parser.add_argument("--at-least", type=float, default=0.0)
    options = parser.parse_args()
    book = read_source(IngestRequest(options.folder, base_url=options.base_url))
    site = FolderSite(options.site, book.base_url)
    times = Counter(norm(block.text) for block in book.blocks())
    there, total, repeated = Counter[BlockKind](), Counter[BlockKind](), 0
    for document in book.documents:
        page = await site.page(document.url)
        for block in document.blocks:
            if block.kind is BlockKind.HEADING:
                continue
            if times[norm(block.text)] > 1:
                repeated += 1
                continue
            total[block.kind] += 1
            found = page is not None and block.paragraph_id in page.ids
            there[block.kind] += found
            if not found:
                print(f"  missing {block.kind} {document.file} {block.text[:70]!r}")
    for kind in sorted(total):
        print(f"| {kind} | {there[kind]}/{total[kind]} |")
    share = there.total() / total.total()
    print(
        f"| all | {there.total()}/{total.total()} = {share:.1%} | and {repeated} of repeated texts"
    )
    return 0 if share >= options.at_least else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
