"""Judging what is handed over: who has to look at it, what its commands are, where it may lie."""
