"""Verbs for what is kept to be found again: documents, and what a role remembers."""
