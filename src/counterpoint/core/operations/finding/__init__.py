"""Verbs for what is found by its words and by its meaning."""
