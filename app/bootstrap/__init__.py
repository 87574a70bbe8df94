"""The composition root: the only package that builds clients and connects them to the use cases.

The entry points reach every adapter through it. Import its modules one by one: a command that only
reads a book then does not load the providers' clients.
"""
