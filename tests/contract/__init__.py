"""What others rely on: HTTP, events, the command line, documents, stores, providers."""
