"""Texts that a project keeps as files: skills and contracts of phases."""
