"""A pipe as a connection: what is read, what is written, what is answered at once."""
