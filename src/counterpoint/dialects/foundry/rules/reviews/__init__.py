"""What models are asked when they review, and what counts of their answers."""
