"""Thoughts in chains, and sessions that are sealed."""
