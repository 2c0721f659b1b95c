"""Texts that a project keeps as files: skills, and the contracts of its phases."""
