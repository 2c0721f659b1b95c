"""Spec files of a repository, kept equal to the ledger."""
