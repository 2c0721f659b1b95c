"""Databases: the only floor that speaks SQL."""
