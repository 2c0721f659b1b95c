"""Nouns of a board: issues as they are asked for and answered, and what a project asks of work."""
