"""Unattended runs: sessions, steps, gates and locks."""
