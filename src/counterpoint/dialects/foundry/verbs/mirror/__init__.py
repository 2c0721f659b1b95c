"""The files of specs beside the ledger: rounds that take edits in and write what has changed."""
