"""Strict tasks, chained thoughts and sealed sessions: accountability as a dialect."""
