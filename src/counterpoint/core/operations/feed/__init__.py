"""Following the ledger: what comes after a sequence, and which items it is about."""
