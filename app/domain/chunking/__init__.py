"""Chunks, the strategies that make them, and the packer they share."""
