"""Judgments about what fits a question."""
