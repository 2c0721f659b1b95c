"""Judging a change of files: what a diff says, and how risky it is."""
