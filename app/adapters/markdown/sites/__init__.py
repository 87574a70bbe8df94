"""Site generators: where a book's pages are, in which order, at which URLs, with which anchors."""
