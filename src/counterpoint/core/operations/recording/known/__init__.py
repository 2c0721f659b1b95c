"""What one process knows of a ledger without asking."""
