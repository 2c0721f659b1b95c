"""What only symphony does with work, on the one write path."""
