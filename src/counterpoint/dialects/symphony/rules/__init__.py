"""What only symphony decides, without input or output."""
