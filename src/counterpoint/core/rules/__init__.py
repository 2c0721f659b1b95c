"""Judgments: pure functions from nouns to decisions."""
