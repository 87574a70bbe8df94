"""The answer engine of a textbook: read a book, find its paragraphs, answer with citations."""
