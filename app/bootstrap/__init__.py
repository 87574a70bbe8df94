"""The composition root: the only package that builds clients and connects the use cases to them.

The entries reach every adapter through it. Each of its modules is imported for itself: whoever only
reads a book does not load the providers' clients.
"""
