"""Nouns of the texts that a project keeps as files, or wants to have written."""
