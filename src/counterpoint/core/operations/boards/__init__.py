"""Verbs for a board of issues, and what a project asks of the work on it."""
