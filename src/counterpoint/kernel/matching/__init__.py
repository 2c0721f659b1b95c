"""What texts are matched against: expressions, and rows with wildcards."""
