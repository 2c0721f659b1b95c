"""Judging what is kept for later sessions: memory files and documents."""
