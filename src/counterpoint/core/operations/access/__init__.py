"""Verbs for access: tokens, meters of use, and the order of tools."""
