"""Making one document of another, and telling what differs."""
