"""Acts that people signed: the statement, the signature, the check over entries."""
