"""Nouns that only this dialect has: the account of its calls."""
