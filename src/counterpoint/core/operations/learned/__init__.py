"""Verbs for learnings, for what was looked through, and for how the tests stand."""
