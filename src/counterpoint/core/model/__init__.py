"""Nouns: frozen dataclasses and the tables of their lifecycles."""
