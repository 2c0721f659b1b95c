"""What only symphony asks and answers."""
