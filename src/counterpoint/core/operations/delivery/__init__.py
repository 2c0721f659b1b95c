"""Verbs for handing over and judging: phases, changes, and their trees."""
