"""Commands that take in what other programs wrote."""
