"""The API in other protocols: each module ("door") translates requests and answers."""
