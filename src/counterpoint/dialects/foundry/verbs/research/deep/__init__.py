"""Verbs of deep research, which goes on behind the calls."""
