"""What texts are held against: expressions, and rows with wildcards."""
