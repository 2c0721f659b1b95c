"""Verbs about keys, signatures and erasure."""
