"""Verbs for texts that a project keeps or wants to have written."""
