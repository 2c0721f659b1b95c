"""Verbs: each reads, decides by the rules, and writes through the one write path."""
