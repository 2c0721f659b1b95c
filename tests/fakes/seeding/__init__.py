"""Changes to live databases, drawn by a seed, and what verification says of each."""
