"""What only colibri does with work, on the one write path."""
