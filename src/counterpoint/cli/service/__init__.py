"""A server under an account of its own: made, and undone."""
