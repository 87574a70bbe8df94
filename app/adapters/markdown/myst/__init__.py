"""MyST: Jupyter Book and Sphinx."""
