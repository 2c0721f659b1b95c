"""Judging issues: what their labels mean."""
