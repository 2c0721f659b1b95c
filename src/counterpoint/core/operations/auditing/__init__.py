"""What looks through a ledger and everything that is made from it."""
