"""Keys, signers and witnesses outside of the ledger."""
