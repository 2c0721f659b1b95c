"""What only workflow does with work, on the one write path."""
