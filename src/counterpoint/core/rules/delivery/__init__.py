"""Judging what is handed over: who looks at it, where it may lie."""
