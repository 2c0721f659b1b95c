"""Verbs for handing over and judging: phases, changes, the trees that work is done in."""
