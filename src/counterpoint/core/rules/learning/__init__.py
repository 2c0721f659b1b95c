"""Judging learnings: what is worth keeping, and in which order they are shown."""
