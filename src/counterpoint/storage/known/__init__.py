"""What a transaction knows of what it has read already."""
