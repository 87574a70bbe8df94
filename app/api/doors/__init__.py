"""The API in the protocols of others: each door translates, and asks the same use cases."""
