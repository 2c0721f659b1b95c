"""Nouns of the texts that a project keeps as files."""
