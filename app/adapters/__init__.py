"""One module or folder per outside library; adapters never import each other."""
