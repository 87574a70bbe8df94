"""The composition root: the only package that builds clients and connects them to the use cases.

The entry points use adapters only through this package. Import its modules one by one, so that a
command that only reads a book does not load the providers' clients.
"""
