"""Databases: the only layer that speaks SQL."""
