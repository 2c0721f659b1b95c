"""The store in a file on this machine: what only SQLite does."""
