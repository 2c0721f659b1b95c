"""Nouns of a board: issues, what was learned on them, what a project asks of work."""
