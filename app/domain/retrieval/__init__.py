"""Finding passages: queries, score fusion, and the assembly of hits into context."""
