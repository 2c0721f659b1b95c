"""Nouns of searches on the web and of pages that are fetched."""
