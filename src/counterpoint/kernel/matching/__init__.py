"""What texts are held against: regular expressions, and rows of tokens with wildcards."""
