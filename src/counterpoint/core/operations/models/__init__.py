"""Verbs that ask models."""
