"""Verbs for the runs of agents: their streams taken in, their events found."""
