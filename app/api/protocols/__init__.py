"""The API in other protocols: each module translates requests and answers."""
