"""Closing and dropping work with all that is below it."""
