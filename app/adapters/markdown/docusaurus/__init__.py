"""Docusaurus: MDX pages and their site."""
