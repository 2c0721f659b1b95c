"""Verbs for what was learned: learnings, what was looked through, how the tests stand."""
