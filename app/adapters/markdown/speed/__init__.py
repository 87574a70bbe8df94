"""What exists for speed alone."""
