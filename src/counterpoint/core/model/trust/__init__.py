"""Nouns of keys, heads and signatures."""
