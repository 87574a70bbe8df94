"""mdBook."""
