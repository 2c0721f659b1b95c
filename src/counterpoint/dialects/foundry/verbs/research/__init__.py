"""Verbs that research with models."""
