"""Nouns of what is handed over: claims of phases, changes, runs, knowledge."""
