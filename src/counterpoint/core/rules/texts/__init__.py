"""Judgments on the texts that a project keeps as files."""
