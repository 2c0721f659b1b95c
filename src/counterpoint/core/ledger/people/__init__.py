"""Acts that people signed: statement, signature, check over entries."""
