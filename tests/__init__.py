"""Tests; a package so that helpers can be imported."""
