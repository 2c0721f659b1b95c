"""Readers of files that are no text."""
